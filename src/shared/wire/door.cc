// SPDX-License-Identifier: Apache-2.0
#include "wire/door.h"

#include <algorithm>
#include <array>

#include "base/letters.h"

namespace berth::wire {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"127.0.0.1", "[::1]", "localhost"};
constexpr std::string_view kAroundWords = " \t";

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kAroundWords);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kAroundWords) - begin + 1);
}

bool is_ours(std::string_view authority, std::uint16_t port) {
  return std::ranges::any_of(kNames, [&](std::string_view name) {
    return is_same_word(authority, std::string(name) + ":" + std::to_string(port));
  });
}

bool is_our_origin(std::string_view origin, std::uint16_t port) {
  constexpr std::string_view kScheme = "http://";
  return is_same_word(origin.substr(0, kScheme.size()), kScheme) &&
         is_ours(origin.substr(std::min(kScheme.size(), origin.size())), port);
}

bool is_json(std::string_view content_type) {
  return is_same_word(without_blanks(content_type.substr(0, content_type.find(';'))),
                      "application/json");
}

bool has_token(const Door& door, const DoorRequest& request) {
  constexpr std::string_view kBearer = "bearer ";
  if (!request.authorization) return false;
  const std::string_view said = *request.authorization;
  return is_same_word(said.substr(0, kBearer.size()), kBearer) &&
         is_same_secret(without_blanks(said.substr(std::min(kBearer.size(), said.size()))),
                        door.token);
}

DoorRefusal refusal(std::uint16_t status, std::string_view code, std::string message) {
  return {status, error_of(code, std::move(message))};
}

}  // namespace

bool is_same_secret(std::string_view given, std::string_view secret) {
  if (secret.empty()) return false;
  const auto code_of = [](char c) { return unsigned{static_cast<unsigned char>(c)}; };
  unsigned differs = given.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    differs |= code_of(given[i]) ^ code_of(secret[i % secret.size()]);
  }
  return differs == 0;
}

std::optional<std::string_view> cookie_in(std::string_view header, std::string_view name) {
  std::optional<std::string_view> found;
  while (!header.empty()) {
    const std::string_view pair = without_blanks(header.substr(0, header.find(';')));
    header.remove_prefix(std::min(header.find(';'), header.size() - 1) + 1);
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos || pair.substr(0, equals) != name) continue;
    if (found) return std::nullopt;
    found = pair.substr(equals + 1);
  }
  return found;
}

// See Note [What a web page can send]: these come first, so that a page learns nothing of tokens.
std::optional<DoorRefusal> foreign_at(const Door& door, const DoorRequest& request) {
  if (!request.host || !is_ours(*request.host, door.port)) {
    return refusal(
        403, to_text(RefusalCode::kNotYours),
        "Host has to be 127.0.0.1, [::1] or localhost, with the port " + std::to_string(door.port));
  }
  if (request.origin && !is_our_origin(*request.origin, door.port)) {
    return refusal(403, to_text(RefusalCode::kNotYours), "requests of other origins are refused");
  }
  return std::nullopt;
}

std::optional<DoorRefusal> forged_at(const Door& door, const DoorRequest& request) {
  if (auto foreign = foreign_at(door, request)) return foreign;
  if (request.has_body && (!request.content_type || !is_json(*request.content_type))) {
    return refusal(415, code::kBadRequest, "a body has to be application/json");
  }
  return std::nullopt;
}

std::optional<DoorRefusal> refused_at(const Door& door, const DoorRequest& request) {
  if (auto forged = forged_at(door, request)) return forged;
  const bool is_open =
      request.path == "/healthz" || (door.open_metrics && request.path == "/metrics");
  if ((is_open && request.method == "GET") || !door.needs_secret) return std::nullopt;
  if (has_token(door, request)) return std::nullopt;
  return refusal(401, to_text(RefusalCode::kNotYours),
                 "the token is needed: Authorization: Bearer TOKEN");
}

}  // namespace berth::wire
