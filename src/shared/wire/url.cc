// SPDX-License-Identifier: Apache-2.0
#include "wire/url.h"

#include <algorithm>
#include <cstddef>

#include "base/letters.h"
#include "base/number.h"
#include "wire/limits.h"

namespace berth::wire {
namespace {

bool is_plain(char c) {
  return is_letter_or_digit(c) || std::string_view("-._~").contains(c);
}

Error bad_target(std::string_view why) {
  return {Errc::kInvalid, "the request's path " + std::string(why)};
}

std::optional<std::string> decode_component(std::string_view text) {
  std::optional<std::string> decoded = percent_decode(text);
  if (decoded && decoded->find('\0') != std::string::npos) return std::nullopt;
  return decoded;
}

// Calls `part` for each piece between separators; false ends it.
template <class Part>
bool split(std::string_view text, char separator, Part part) {
  while (true) {
    const std::size_t end = text.find(separator);
    if (!part(text.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::optional<std::string> percent_decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    const auto value = parse_number<unsigned>(digits, 16);
    if (digits.size() != 2 || !value) return std::nullopt;
    decoded += static_cast<char>(*value);
    i += 2;
  }
  return decoded;
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (is_plain(c)) {
      encoded += c;
    } else {
      encoded += '%';
      encoded += kHex[static_cast<unsigned char>(c) >> 4U];
      encoded += kHex[static_cast<unsigned char>(c) & 15U];
    }
  }
  return encoded;
}

Result<Target> parse_target(std::string_view text) {
  if (text.size() > limits::kTargetMax) {
    return Error{Errc::kFull, "the request's path has more than " +
                                  std::to_string(limits::kTargetMax) + " bytes"};
  }
  if (!text.starts_with('/')) return bad_target("does not begin with '/'");
  const auto must_be_escaped = [](unsigned char c) { return c <= ' ' || c >= 0x7F; };
  if (std::any_of(text.begin(), text.end(), must_be_escaped)) {
    return bad_target("holds bytes that must be percent-encoded");
  }
  Target target;
  const std::size_t question = text.find('?');
  const std::string_view path = text.substr(1, question - 1);
  const bool path_ok = path.empty() || split(path, '/', [&](std::string_view segment) {
                         std::optional<std::string> decoded = decode_component(segment);
                         if (!decoded || decoded->empty()) return false;
                         target.segments.push_back(*std::move(decoded));
                         return true;
                       });
  if (!path_ok) return bad_target("has an empty segment or a bad escape");
  if (question == std::string_view::npos || question + 1 == text.size()) return target;
  const bool query_ok = split(text.substr(question + 1), '&', [&](std::string_view pair) {
    const std::size_t equals = pair.find('=');
    std::optional<std::string> key = decode_component(pair.substr(0, equals));
    std::optional<std::string> value =
        equals == std::string_view::npos ? "" : decode_component(pair.substr(equals + 1));
    if (!key || !value || key->empty()) return false;
    target.query.emplace_back(*std::move(key), *std::move(value));
    return true;
  });
  if (!query_ok) return bad_target("has a query with a bad escape or without a name");
  return target;
}

}  // namespace berth::wire
