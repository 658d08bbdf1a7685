// SPDX-License-Identifier: Apache-2.0
// `value`, checked: when each waiting request is due follows from what the journal says of it, and
// is computed in another way than the coordinator does; the queue must be in that order.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "sim/observations.h"

namespace berth::sim {

/// The queue as the coordinator tells it. Empty, or which two stand in the wrong order.
std::string check_value_order(const Observations& observations, const std::vector<LeaseId>& queue);

}  // namespace berth::sim
