// SPDX-License-Identifier: Apache-2.0
// Count of what a function takes of the heap. Every program linked with this has an operator new
// that counts.
#pragma once

#include <cstdint>
#include <functional>

namespace berth::sim {

/// Bytes that `work` asks operator new for, in this thread; what is given back is not subtracted.
std::uint64_t allocated_by(const std::function<void()>& work);

}  // namespace berth::sim
