// SPDX-License-Identifier: Apache-2.0
// The little that the guard needs of texts.
#pragma once

#include <cstddef>
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

}  // namespace berth::guard
