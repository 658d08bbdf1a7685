// SPDX-License-Identifier: Apache-2.0
// The machine that a run finds.
#pragma once

#include "train/traps.h"

namespace berth::trainer {

train::Machine this_machine();

}  // namespace berth::trainer
