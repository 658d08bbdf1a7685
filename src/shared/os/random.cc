// SPDX-License-Identifier: Apache-2.0
#include "os/random.h"

#include <sys/random.h>

#include "base/check.h"

namespace berth::os {

std::uint64_t random_number() {
  std::uint64_t number = 0;
  // Up to 256 bytes come whole and are not interrupted, once the kernel has been seeded at boot.
  CHECK(::getrandom(&number, sizeof number, 0) == sizeof number);
  return number;
}

Handle random_handle() {
  return {.high = random_number(), .low = random_number()};
}

}  // namespace berth::os
