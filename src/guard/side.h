// SPDX-License-Identifier: Apache-2.0
// The two drivers that a process may have. A process may have one in the program's own namespace
// and one in another namespace of the dynamic linker (dlmopen), with contexts and memory of its
// own. The memory of one of them is counted: that which was there first.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace berth::guard {

enum class Side : std::uint8_t { kOwn, kOther };
constexpr std::size_t kSides = 2;

/// Of the call that this thread is in.
inline constinit thread_local Side side = Side::kOwn;
inline std::atomic<Side> counted_side = Side::kOwn;

inline bool is_counted() {
  return side == counted_side.load(std::memory_order_relaxed);
}

}  // namespace berth::guard
