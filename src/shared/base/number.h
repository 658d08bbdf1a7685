// SPDX-License-Identifier: Apache-2.0
// parse_number() reads a number that is the whole of a text: nothing before it, nothing after it,
// nothing that does not fit. No sign but the minus of a signed type, no blanks, no "0x".
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace berth {

template <std::integral Number>
std::optional<Number> parse_number(std::string_view text, int base = 10) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

template <std::floating_point Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

/// The number with which a text begins, as 575 of "575.57"; 0 where it begins with none.
inline unsigned leading_number(std::string_view text) {
  unsigned number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace berth
