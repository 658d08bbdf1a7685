// SPDX-License-Identifier: Apache-2.0
// Figures of libtorch's allocator for GPUs about the first of them, for memory.cc alone. Where
// libtorch was built without CUDA there is none, and is_available() has said so before anyone asks.
#pragma once

#include "trainer/libtorch.h"
#include "trainer/memory.h"

#ifdef TORCH_HAS_CUDA
#include <c10/cuda/CUDACachingAllocator.h>
#endif

namespace berth::trainer {

#ifdef TORCH_HAS_CUDA

inline TensorMemory cuda_memory() {
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(0);
  const auto& bytes = stats.allocated_bytes[0];  // Of all pools.
  return {.now = {static_cast<std::uint64_t>(bytes.current)},
          .peak = {static_cast<std::uint64_t>(bytes.peak)},
          .allocations = static_cast<std::uint64_t>(stats.allocation[0].allocated)};
}
inline void reset_cuda_peak() {
  c10::cuda::CUDACachingAllocator::resetPeakStats(0);
}
inline void release_cuda_cache() {
  c10::cuda::CUDACachingAllocator::emptyCache();
}

#else

inline TensorMemory cuda_memory() {
  return {};
}
inline void reset_cuda_peak() {}
inline void release_cuda_cache() {}

#endif

}  // namespace berth::trainer
