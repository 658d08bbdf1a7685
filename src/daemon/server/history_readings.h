// SPDX-License-Identifier: Apache-2.0
// Readings of one look at the devices, for later questions about the past. Plain functions.
#pragma once

#include <vector>

#include "base/units.h"
#include "model/device.h"
#include "model/history.h"
#include "model/lease.h"
#include "model/view.h"

namespace berth::server {

/// The figures that are known: of the devices of the sample, of the leases on them and of their
/// processes. `leases`: those that hold something.
std::vector<history::Reading> readings_of(const Sample& sample,
                                          const std::vector<DeviceView>& devices,
                                          const std::vector<LeaseView>& leases);

/// How a lease stands that had devices: it has started. Without figures of its use.
history::Session session_of(const LeaseView& lease);

/// Its use has been so for a while, as far as it is known on all of its devices.
void add_use(history::Session& session, const LeaseView& lease, Duration time);

}  // namespace berth::server
