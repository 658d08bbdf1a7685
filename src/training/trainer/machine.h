// SPDX-License-Identifier: Apache-2.0
// The machine that a run finds, and how much of it libtorch takes.
#pragma once

#include <cstdint>

#include "train/traps.h"

namespace berth::trainer {

train::Machine this_machine();

/// Threads that libtorch computes with, in the whole process. 0: as many as there are cores.
/// Debian's libtorch takes half of them for itself, and none of two.
void set_threads(std::uint32_t wanted);

}  // namespace berth::trainer
