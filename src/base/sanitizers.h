// SPDX-License-Identifier: Apache-2.0
// What this build is checked with while it runs, for tests that a sanitizer cannot follow.
#pragma once

namespace berth {

#ifdef __SANITIZE_ADDRESS__  // GCC's name; where Clang sanitizes, we only fuzz.
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

}  // namespace berth
