// SPDX-License-Identifier: Apache-2.0
// Memory that tensors hold. Of the host's: libtorch's allocator for the CPU is replaced by one that
// counts, so that figures are of what was allocated, not of what the system has not taken back. A
// limit can be set, for tests of what happens at the end of memory. Any thread.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "base/units.h"
#include "train/settings.h"

namespace berth::trainer {

/// Once a process, before the first tensor; further calls do nothing.
void count_tensor_memory();

struct TensorMemory {
  Bytes now;
  Bytes peak;                     // Since the last reset_tensor_memory_peak().
  std::uint64_t allocations = 0;  // Since the process began.
};
TensorMemory tensor_memory();
void reset_tensor_memory_peak();

/// The same of what is on that device.
TensorMemory tensor_memory(train::Device device);
void reset_tensor_memory_peak(train::Device device);
/// Memory of the device that libtorch keeps for later goes back to it. Nothing on the host.
void release_unused(train::Device device);

/// Does it, and returns what libtorch throws: kExhausted where there was no memory, else kInvalid.
Status caught(const std::function<void()>& work);

/// What would lead beyond this is refused as libtorch's own allocator refuses, with a c10::Error.
void limit_tensor_memory(Bytes most);

}  // namespace berth::trainer
