// SPDX-License-Identifier: Apache-2.0
// Memory that a lease had on its devices before it was moved to the host, and that must be free
// there before it is moved back; see Note [Room before return].
#pragma once

#include <cstddef>

#include "core/attribution.h"
#include "core/decider.h"
#include "core/devices.h"
#include "core/ledger.h"
#include "core/part.h"

namespace berth::core {

class SwapNeeds {
 public:
  SwapNeeds(const Ledger& ledger, const Devices& devices, const Attribution& attribution)
      : ledger_(ledger), devices_(devices), attribution_(attribution) {}

  /// On its i-th device, before it left; more than its budget where that had shrunk.
  Bytes before(const Lease& lease, std::size_t i) const;
  /// What has to be free for that. What was sampled before it left may be less than what did.
  /// Unless its account tells, or it was `measured` when it was locked, that may be all of its
  /// budget.
  Bytes to_return(const Lease& lease, std::size_t i, bool measured) const;
  /// Without an account of its own programs nothing holds it to its budget, and it may take more
  /// until it is locked.
  bool is_to_be_measured(const Lease& lease) const;
  /// All of its devices have it, by the driver.
  bool have_room(const Lease& lease, bool measured) const;
  /// What it needs to run, as one that takes turns.
  Bytes of_turn(const Lease& lease) const;

 private:
  bool has_account(const Lease& lease, std::size_t i) const;
  bool has_room(const Lease& lease, std::size_t i, bool measured) const;

  Ref<const Ledger> ledger_;
  Ref<const Devices> devices_;
  Ref<const Attribution> attribution_;
};

}  // namespace berth::core
