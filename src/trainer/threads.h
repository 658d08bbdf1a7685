// SPDX-License-Identifier: Apache-2.0
// Number of threads that libtorch computes with, in the whole process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>

#include "trainer/libtorch.h"

namespace berth::trainer {

/// 0: as many as there are cores. Debian's libtorch takes half of them for itself, and none of two.
inline void set_threads(std::uint32_t wanted) {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  at::set_num_threads(static_cast<int>(wanted == 0 ? cores : wanted));
}

}  // namespace berth::trainer
