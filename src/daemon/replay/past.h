// SPDX-License-Identifier: Apache-2.0
// Leases of the past as tasks to be played again: those that the history tells of, which had
// devices. Their priorities it does not tell: all are normal.
#pragma once

#include <vector>

#include "base/units.h"
#include "model/history.h"
#include "replay/task.h"

namespace berth::replay {

/// Sorted by arrival, the first at instant 0. What has not ended runs until `now`.
std::vector<Task> tasks_of(const std::vector<history::Session>& sessions, UnixMs now);

}  // namespace berth::replay
