// SPDX-License-Identifier: Apache-2.0
// Functions that a compiler may call by itself, so that the library needs nothing of the C library
// for it. Not seen outside of the library.
#include <cstddef>

extern "C" {

void* memcpy(void* to, const void* from, std::size_t bytes) {
  void* const result = to;
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
  return result;
}

void* memset(void* to, int value, std::size_t bytes) {
  void* const result = to;
  asm volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(value) : "memory");
  return result;
}

}  // extern "C"
