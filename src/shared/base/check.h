// SPDX-License-Identifier: Apache-2.0
// CHECK states what the programmer holds to be true. It is on in every build: a process whose state
// is wrong stops, and is started again from its journal. Failures of the outside world are not
// checked but returned (base/result.h).
#pragma once

#define CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::berth::check_failed(#condition, __FILE__, __LINE__))

namespace berth {

/// Prints what failed and where on stderr, and aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace berth
