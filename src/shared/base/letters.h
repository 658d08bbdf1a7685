// SPDX-License-Identifier: Apache-2.0
// The letters of text that anybody may have written, one by one, and which of them are harmful
// where people read it: those that control a terminal, turn the direction of text or cannot be
// seen. Pure; any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace berth {

struct Letter {
  char32_t code = 0;
  std::size_t size = 1;  // Bytes it takes.
  bool valid = false;
};

/// The letter that begins at the first byte. Overlong forms, surrogates and what lies beyond
/// U+10FFFF are not valid, and one byte is taken of them.
Letter first_letter(std::string_view text);

/// Of ASCII.
constexpr bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}
/// The same but for the case of letters of ASCII.
constexpr bool is_same_word(std::string_view a, std::string_view b) {
  const auto small = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::ranges::equal(a, b, {}, small, small);
}
/// At least one of these, and of '-' and '_', and nothing else.
constexpr bool is_bare_word(std::string_view text) {
  const auto is_fit = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_'; };
  return !text.empty() && std::ranges::all_of(text, is_fit);
}

/// Controls, marks of direction, line and paragraph separators, what takes no room, private use and
/// tags.
bool is_harmful(char32_t code);

/// The beginning of UTF-8 text, at most so many bytes of it, which ends with a whole letter.
std::string_view whole_letters(std::string_view text, std::size_t bytes_max);

/// For a line that people read: what is harmful or no UTF-8 becomes '?', line ends and tabs a
/// blank.
std::string escape_control_line(std::string_view untrusted);

}  // namespace berth
