// SPDX-License-Identifier: Apache-2.0
// Sanitizers that this build runs with, for tests that one of them cannot follow.
#pragma once

namespace berth {

#ifdef __SANITIZE_ADDRESS__  // GCC's name; where Clang sanitizes, we only fuzz.
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/// Of work that is repeated for what it may find, how much a test does: a sanitizer makes it some
/// ten times as long.
inline constexpr unsigned kRepeatedShare = 10;
#else
inline constexpr unsigned kRepeatedShare = 1;
#endif

}  // namespace berth
