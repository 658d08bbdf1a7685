// SPDX-License-Identifier: Apache-2.0
#include "server/page_door.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "http/door_keeper.h"
#include "http/loopback.h"
#include "server/page_files.h"
#include "wire/error.h"
#include "wire/url.h"

namespace berth::server {
namespace {

constexpr std::string_view kOpenPath = "/open";
constexpr std::string_view kNoOrigin = "null";  // Of a file that posts the code.

// What a path is served as. The sign-in page has a style of its own, and no script.
struct Served {
  std::string_view path;
  std::string_view file;
  std::string_view type;
};
constexpr std::array kServed = {
    Served{"/", "index.html", "text/html; charset=utf-8"},
    Served{"/app.js", "app.js", "text/javascript; charset=utf-8"},
    Served{"/app.css", "app.css", "text/css; charset=utf-8"},
    Served{"/opened.js", "opened.js", "text/javascript; charset=utf-8"},
    Served{"/licences.txt", "licences.txt", "text/plain; charset=utf-8"},
};
constexpr std::string_view kHtml = kServed.front().type;
constexpr std::string_view kPagePolicy =
    "default-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'";
constexpr std::string_view kSignInPolicy =
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'";

const PageFile& file_of(std::string_view name) {
  const auto found = std::ranges::find(page_files(), name, &PageFile::name);
  CHECK(found != page_files().end());
  return *found;
}

std::vector<http::Header> headers(std::string_view type, std::string_view policy) {
  return {{"Content-Type", std::string(type)},
          {"Content-Security-Policy", std::string(policy)},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"}};
}

// The text with what stands for `{{name}}` in its place.
std::string filled(std::string_view text, std::string_view name, std::string_view value) {
  const std::string hole = "{{" + std::string(name) + "}}";
  const std::size_t at = text.find(hole);
  CHECK(at != std::string_view::npos);
  return std::string(text.substr(0, at)) + std::string(value) +
         std::string(text.substr(at + hole.size()));
}

/// `message`: HTML of ours; empty: nothing was tried yet.
http::Answer sign_in(std::string_view message) {
  return {.status = 401,
          .body = filled(file_of("sign_in.html").text, "message", message),
          .headers = headers(kHtml, kSignInPolicy)};
}

http::Answer refused(const wire::DoorRefusal& refusal) {
  return {.status = refusal.status, .body = wire::encode_error(refusal.error)};
}
http::Answer refused(std::uint16_t status, std::string message) {
  return refused({status, wire::error_of(to_text(RefusalCode::kNotYours), std::move(message))});
}

// Of a list of codings; a weight of 0, in whatever form, refuses it.
bool takes_gzip(std::optional<std::string_view> accepted) {
  if (!accepted) return false;
  const std::size_t at = accepted->find("gzip");
  if (at == std::string_view::npos) return false;
  const std::string_view rest = accepted->substr(at, accepted->find(',', at) - at);
  const std::size_t weight = rest.find("q=");
  return weight == std::string_view::npos ||
         rest.find_first_of("123456789", weight) != std::string_view::npos;
}

http::Answer served(const Served& page, const http::Request& request) {
  const PageFile& file = file_of(page.file);
  http::Answer answer{.body = std::string(file.text), .headers = headers(page.type, kPagePolicy)};
  answer.headers.emplace_back("Vary", "Accept-Encoding");
  if (takes_gzip(request.header("Accept-Encoding"))) {
    answer.body = file.gzip;
    answer.headers.emplace_back("Content-Encoding", "gzip");
  }
  return answer;
}

std::string_view cookie_of(const wire::DoorRequest& request) {
  if (!request.cookie) return {};
  return wire::cookie_in(*request.cookie, wire::kCookieName).value_or("");
}

}  // namespace

std::string form_field(std::string_view form, std::string_view name) {
  while (!form.empty()) {
    const std::string_view pair = form.substr(0, form.find('&'));
    form.remove_prefix(std::min(pair.size() + 1, form.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (pair.substr(0, equals) != name) continue;
    std::string coded(pair.substr(std::min(equals + 1, pair.size())));
    std::ranges::replace(coded, '+', ' ');
    return wire::percent_decode(coded).value_or(coded);
  }
  return {};
}

PageDoor::PageDoor(http::Handler& programs, Ports ports, wire::Door door)
    : programs_(programs), ports_(std::move(ports)), door_(std::move(door)) {}

void PageDoor::requested(ConnectionId connection, http::Request request) {
  CHECK(transport_ != nullptr);
  if (auto answer = page_answer(request)) return transport_->answer(connection, *answer);
  if (!request.header(wire::kKeyHeader)) {
    return programs_.requested(connection, std::move(request));
  }
  if (auto answer = refuse_guest(request)) return transport_->answer(connection, *answer);
  ports_.behind.requested(connection, std::move(request));
}

/// Absent: it is no question for the page.
std::optional<http::Answer> PageDoor::page_answer(const http::Request& request) {
  wire::DoorRequest at_door = http::at_the_door(request);
  if (at_door.path == kOpenPath && request.method == "POST") {
    // The code is what counts; a file of the user's posts it, too.
    if (at_door.origin == kNoOrigin) at_door.origin.reset();
    if (const auto foreign = wire::foreign_at(door_, at_door)) return refused(*foreign);
    return open(request);
  }
  const auto page = std::ranges::find(kServed, at_door.path, &Served::path);
  if (page == kServed.end() || request.method != "GET") return std::nullopt;
  if (const auto foreign = wire::foreign_at(door_, at_door)) return refused(*foreign);
  if (!ports_.sessions.opens_page(cookie_of(at_door), ports_.clock.wall())) return sign_in("");
  return served(*page, request);
}

/// Makes a session of a code: its cookie goes to the browser, its key into the page of this answer.
http::Answer PageDoor::open(const http::Request& request) {
  const std::string code = form_field(request.body, "code");
  const wire::SessionSecrets secrets{.cookie = http::new_secret(), .key = http::new_secret()};
  if (!ports_.sessions.redeem(code, secrets, ports_.clock.wall())) {
    return sign_in(R"(<p role="alert">That code is over, or was never one.</p>)");
  }
  ports_.sessions_changed();
  http::Answer answer{.body = filled(file_of("opened.html").text, "key", secrets.key),
                      .headers = headers(kHtml, kPagePolicy)};
  answer.headers.emplace_back("Set-Cookie", std::string(wire::kCookieName) + "=" + secrets.cookie +
                                                "; HttpOnly; SameSite=Strict; Path=/");
  return answer;
}

/// Absent: it may come in, as its user.
std::optional<http::Answer> PageDoor::refuse_guest(http::Request& request) {
  const wire::DoorRequest at_door = http::at_the_door(request);
  if (const auto refusal = wire::forged_at(door_, at_door)) return refused(*refusal);
  request.guest =
      ports_.sessions.guest_of(cookie_of(at_door), at_door.key.value_or(""), ports_.clock.wall());
  if (!request.guest) {
    return refused(401, "this session is over: berth dashboard opens another");
  }
  if (!request.guest->may_act && request.method != "GET") {
    return refused(403,
                   "this session may only look: berth dashboard without --read-only opens one "
                   "that may act");
  }
  return std::nullopt;
}

}  // namespace berth::server
