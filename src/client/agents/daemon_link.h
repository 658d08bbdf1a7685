// SPDX-License-Identifier: Apache-2.0
// The daemon as tools ask it: found when it is needed, found again when it was lost. Not shared
// between threads.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/result.h"
#include "client/client.h"
#include "wire/error.h"

namespace berth::agents {

/// An answer, or the daemon's no; that there is no daemon is one, too.
template <class T>
using Answered = std::variant<T, wire::ApiError>;

class DaemonLink {
 public:
  explicit DaemonLink(client::ClientOptions options) : options_(std::move(options)) {}

  /// The body of its answer. Blocks until it is there, half a minute at most.
  Answered<std::string> ask(const client::HttpRequest& question);
  template <class T>
  Answered<T> ask(const client::HttpRequest& question, Result<T> (*decode)(std::string_view)) {
    Answered<std::string> body = ask(question);
    if (auto* error = std::get_if<wire::ApiError>(&body)) return std::move(*error);
    Result<T> decoded = decode(std::get<std::string>(body));
    if (!decoded.ok()) return wire::error_of(wire::code::kVersion, decoded.error().message);
    return *std::move(decoded);
  }
  /// A connection of its own, for what takes long.
  Answered<client::Connection> connect();

 private:
  /// Null: `error` says why there is none.
  client::Client* client(wire::ApiError& error);

  client::ClientOptions options_;
  std::optional<client::Client> client_;
};

/// Of an exchange that gave no answer.
wire::ApiError error_of(const Error& error);

}  // namespace berth::agents
