// SPDX-License-Identifier: Apache-2.0
// Gives up rights that this process was handed by the one that started it. For a program with one
// thread.
#pragma once

#include "base/result.h"

namespace berth::os {

/// For good, whether it was there or not: neither this process nor what it starts has it again.
/// `number`: CAP_KILL, ...
Status give_up_capability(int number);

}  // namespace berth::os
