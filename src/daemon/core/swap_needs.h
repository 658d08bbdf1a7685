// SPDX-License-Identifier: Apache-2.0
// Memory that a lease had on its devices before it was moved to the host, and that must be free
// there before it is moved back; see Note [Room before return].
#pragma once

#include <cstddef>

#include "core/attribution.h"
#include "core/confirmations.h"
#include "core/decider.h"
#include "core/devices.h"
#include "core/ledger.h"
#include "core/part.h"

namespace berth::core {

/// What is known of memory that is to come back.
enum class Away {
  kPartly,      // Some of it may be back by now.
  kUnmeasured,  // All of it is away, and was not measured when it was locked.
  kMeasured,
};

class SwapNeeds {
 public:
  SwapNeeds(const Ledger& ledger, const Devices& devices, const Attribution& attribution,
            const Confirmations& confirmations)
      : ledger_(ledger),
        devices_(devices),
        attribution_(attribution),
        confirmations_(confirmations) {}

  /// On its i-th device, before it left; more than its budget where that had shrunk.
  Bytes before(const Lease& lease, std::size_t i) const;
  /// What it has there when that is back: what was not moved has stayed, and is beside it.
  Bytes when_back(const Lease& lease, std::size_t i) const;
  /// What it may have there then. What was sampled before it left may be less than what did.
  /// Unless its account tells, or it was measured when it was locked, it may be all of its budget.
  Bytes to_return(const Lease& lease, std::size_t i, Away away) const;
  /// Without an account of its own programs nothing holds it to its budget, and it may take more
  /// until it is locked.
  bool is_to_be_measured(const Lease& lease) const;
  /// All of its devices have it, by the driver.
  bool have_room(const Lease& lease, Away away) const;
  /// What it needs to run, as one that takes turns.
  Bytes of_turn(const Lease& lease) const;

 private:
  bool has_account(const Lease& lease, std::size_t i) const;
  bool is_where_it_was(const Lease& lease, std::size_t i) const;
  bool has_room(const Lease& lease, std::size_t i, Away away) const;
  Bytes stayed(const Lease& lease, std::size_t i) const;

  Ref<const Ledger> ledger_;
  Ref<const Devices> devices_;
  Ref<const Attribution> attribution_;
  Ref<const Confirmations> confirmations_;
};

}  // namespace berth::core
