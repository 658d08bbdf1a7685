// SPDX-License-Identifier: Apache-2.0
// Waiting for a word of memory that several processes map. Any thread may call these.
#pragma once

#include <atomic>
#include <cstdint>

namespace berth::simgpu {

/// Waits while the word has that value, at most so long; may come back early for no reason.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, std::int64_t for_ns);

/// Wakes all who wait for the word. The word was changed before.
void futex_wake(std::atomic<std::uint32_t>& word);

}  // namespace berth::simgpu
