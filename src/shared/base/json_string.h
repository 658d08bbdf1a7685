// SPDX-License-Identifier: Apache-2.0
// Text as JSON writes it, and back. What is appended is always valid JSON and valid UTF-8: bytes
// that are none become U+FFFD, because command lines may hold anything. Pure; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

/// Appends the text in quotes.
void append_json_string(std::string_view text, std::string& out);
/// What stands between the quotes, with its escapes resolved; absent where one is wrong. What is no
/// UTF-8 stays as it is.
std::optional<std::string> unescaped(std::string_view text);

/// How much of its beginning is well-formed UTF-8 (RFC 3629): without surrogates and overlong
/// forms.
std::size_t utf8_length(std::string_view text);
inline bool is_utf8(std::string_view text) {
  return utf8_length(text) == text.size();
}

}  // namespace berth
