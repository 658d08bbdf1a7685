// SPDX-License-Identifier: Apache-2.0
// The little that the guard needs of texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace berth::guard {

constexpr bool equal(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

constexpr bool starts_with(const char* text, const char* beginning) {
  while (*beginning != '\0') {
    if (*text++ != *beginning++) return false;
  }
  return true;
}

constexpr bool ends_with(const char* text, const char* end) {
  while (*text != '\0' && !equal(text, end)) ++text;
  return equal(text, end);
}

/// The two joined, with an end; false if there is no room for them.
constexpr bool join(char* into, std::size_t room, const char* a, const char* b) {
  std::size_t length = 0;
  for (const char* part : {a, b}) {
    for (; *part != '\0'; ++part) {
      if (length + 1 >= room) return false;
      into[length++] = *part;
    }
  }
  into[length] = '\0';
  return true;
}

/// Reads "GPU-5a1c0d2e-…" or "MIG-…": what stands before the first '-', and 32 hexadecimal digits.
constexpr bool read_uuid(const char* text, std::uint8_t (&uuid)[16]) {
  while (*text != '\0' && *text != '-') ++text;
  int digits = 0;
  for (; *text != '\0'; ++text) {
    if (*text == '-') continue;
    const char lower = static_cast<char>(*text | 0x20);
    const bool letter = lower >= 'a' && lower <= 'f';
    if (digits == 32 || (!letter && (*text < '0' || *text > '9'))) return false;
    const int value = letter ? lower - 'a' + 10 : *text - '0';
    std::uint8_t& byte = uuid[digits / 2];
    byte = static_cast<std::uint8_t>(digits % 2 == 0 ? value << 4 : byte | value);
    ++digits;
  }
  return digits == 32;
}

}  // namespace berth::guard
