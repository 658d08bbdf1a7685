// SPDX-License-Identifier: Apache-2.0
// Makes a job of a request: from then on it stays when its connections end. Not shared between
// threads.
#pragma once

#include "base/result.h"
#include "base/units.h"
#include "client/client.h"
#include "model/lease.h"

namespace berth::client {

/// The lease that a stream tells of first. kConflict: the daemon's no, in its words.
Result<LeaseView> lease_in(const Arrival& arrival);

/// Asks in a connection of its own, and returns when it is so. The lease as it is then.
Result<LeaseView> keep_request(const Client& client, const LeaseView& queued, Duration within);

}  // namespace berth::client
