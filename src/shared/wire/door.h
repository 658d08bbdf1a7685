// SPDX-License-Identifier: Apache-2.0
// The door for requests over TCP, which any program of the machine and any web page can knock at:
// who may come in is decided by what a request carries, before anything of it is done. Pure; any
// thread.
//
// Note [What a web page can send]
//
// A page of another origin can have a browser send requests to a port of this machine. It cannot
// read the answers, but a request may do harm by itself; and a name of its own that resolves to
// 127.0.0.1 (DNS rebinding) makes our answers those of its origin. So Host has to be a name of this
// machine with our port, Origin has to be ours where it is said, a body has to be application/json,
// which a form cannot send, and each request has to carry what a page cannot know: the token, or
// the secrets of a session (wire/browser_sessions.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wire/error.h"

namespace berth::wire {

/// What is looked at of a request.
struct DoorRequest {
  std::string_view method;
  std::string_view path;  // Without its query.
  std::optional<std::string_view> host;
  std::optional<std::string_view> origin;
  std::optional<std::string_view> authorization;
  std::optional<std::string_view> cookie;
  std::optional<std::string_view> key;  // Of a session: the Berth-Key header.
  std::optional<std::string_view> content_type;
  bool has_body = false;
};

struct Door {
  std::uint16_t port = 0;
  std::string token;          // Of programs; never empty.
  bool open_metrics = false;  // /metrics needs neither.
  bool needs_secret = true;   // False: the token is not asked for, in tests of the rest.
};

inline constexpr std::string_view kCookieName = "berth";
inline constexpr std::string_view kKeyHeader = "Berth-Key";

/// Why it does not come in: 403 for what a page of another origin could send, 401 without the
/// token, 415 for another kind of body. Absent: it does.
struct DoorRefusal {
  std::uint16_t status = 403;
  ApiError error;
};
std::optional<DoorRefusal> refused_at(const Door& door, const DoorRequest& request);
/// The part of it that is about where a request comes from: 403 for another host or origin.
std::optional<DoorRefusal> foreign_at(const Door& door, const DoorRequest& request);
/// That, and 415 for a body that a form could send: all but the secret.
std::optional<DoorRefusal> forged_at(const Door& door, const DoorRequest& request);

/// Takes as long whatever differs, and as it is longer.
bool is_same_secret(std::string_view given, std::string_view secret);

/// The value of a cookie in a Cookie header; absent: it is not there, or there twice.
std::optional<std::string_view> cookie_in(std::string_view header, std::string_view name);

}  // namespace berth::wire
