// SPDX-License-Identifier: Apache-2.0
// Waits until leases are in a state, or until a request would fit, through restarts of the daemon.
// Holds no place in any queue. Not shared between threads.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "client/client.h"
#include "model/lease.h"
#include "model/view.h"
#include "wire/error.h"
#include "wire/request.h"

namespace berth::cli {

/// Whether the lease has come to this state, also if it has left it since.
bool has_reached(const LeaseView& lease, LeaseState state);

/// What `wait` ends with for a lease that has ended: its command's own code, or 128 + the signal.
int exit_status_of(const LeaseView& lease);

class Waiter {
 public:
  enum class Quorum : std::uint8_t { kAny, kAll };
  struct Goal {
    std::vector<LeaseView> leases;  // As they are known.
    LeaseState state = LeaseState::kEnded;
    Quorum quorum = Quorum::kAll;
  };

  /// `until`: Instant::never() for no bound.
  Waiter(client::Client& client, Instant until) : client_(client), until_(until) {}

  /// The leases of the goal as they are when it is reached; kTimedOut: `until` has passed.
  Result<std::vector<LeaseView>> wait_for(Goal goal);
  /// The answer that says that it fits; kTimedOut likewise. A refusal is an Error of kInvalid or
  /// kUnavailable; refusal() then has its word.
  Result<FitView> wait_for_fit(const RequestBody& request);

  const std::optional<wire::ApiError>& refusal() const { return refusal_; }

 private:
  Result<client::Arrival> next();
  Status begin(const client::HttpRequest& question);
  Status refresh(std::vector<LeaseView>& leases);
  Status reconnect_daemon(const Error& lost);

  client::Client& client_;
  Instant until_;
  std::optional<wire::ApiError> refusal_;
};

}  // namespace berth::cli
