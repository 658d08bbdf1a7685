// SPDX-License-Identifier: Apache-2.0
// Measures against what endangers leases: who is above their budget, which measure is next, on
// which lease it is taken, and what comes of it.
//
// Note [Over budget, by measurement]
//
// Whatever way a program came to its memory, the driver counts it. A lease is flagged and announced
// as over its budget by the first sample that says so; that harms nobody. What does harm waits
// until it is sure: the excess is above a tolerance (the driver counts in pages, and what it keeps
// for itself differs), and each sample in half a second says so. Then the log has it, and the times
// of its ladder have begun with the first of these samples. One sample within the budget, or one
// that does not tell, begins them anew. Nothing is decided by a clock alone: only a sample that
// still finds the excess takes a measure, so no old figure does, and a daemon that was started anew
// gives the whole time again.
//
// Note [Who is chosen]: a measure goes to the cause. That is the lease above its budget: for that
// alone, as it has asked, or because others on its GPU lack what they were granted, as the operator
// says. Where no lease is above its budget and leases lack memory all the same, unmanaged processes
// have it. They cannot be asked, so it is only reported, unless `on_unmanaged` says more. Then
// leases make room, one after another: idle ones first, then the lower priority, then the one that
// has least to be moved, then the youngest. The next is chosen only when all that the ladder has
// was tried with the one before, and a sample after that still finds the danger.
//
// A ladder is climbed by samples alone. One measure is under way on a lease at a time, none is
// taken again before its cool-down is over, and one that fails or is refused leads to the next.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>

#include "core/attribution.h"
#include "core/decider.h"
#include "core/devices.h"
#include "core/escalation_state.h"
#include "core/indexes.h"
#include "core/ledger.h"
#include "core/lifecycle.h"
#include "core/part.h"
#include "core/pressure_monitor.h"
#include "core/requeuing.h"
#include "core/saves.h"
#include "core/transfers.h"
#include "model/ladder.h"

namespace berth::core {

class Escalation {
 public:
  Escalation(Decider& core, const Devices& devices, const Indexes& indexes,
             const Attribution& attribution, const PressureMonitor& pressure, Saves& saves,
             Transfers& transfers, Displaced& displaced, Requeuing& requeuing, Lifecycle& lifecycle)
      : core_(core),
        devices_(devices),
        indexes_(indexes),
        attribution_(attribution),
        pressure_(pressure),
        saves_(saves),
        transfers_(transfers),
        displaced_(displaced),
        requeuing_(requeuing),
        lifecycle_(lifecycle) {}

  /// See Note [Over budget, by measurement].
  void weigh(LeaseId id, Instant asked_at);
  /// See Note [Who is chosen].
  void escalate(const Sample& sample);
  /// Ends the measures of which something has come.
  void tend_measures();
  /// When something should have come of the measure that is under way.
  static Instant due(const Lease& lease);
  /// False: it is not late, or none is under way.
  bool tend_late(LeaseId id);
  void forget(LeaseId id) { known_.forget(id); }

 private:
  struct OfLease {
    std::array<EscalationState, kCauseCount> escalations;  // By cause.
    std::string excess;  // How it is above its budget, for people.
    Unchanged unchanged;
    Bytes used_before_cleanup;

    EscalationState& by(Cause cause) { return escalations[static_cast<std::size_t>(cause)]; }
    /// By each sample since `over_budget.tolerance` was passed.
    bool is_above() const {
      return escalations[static_cast<std::size_t>(Cause::kOverBudget)].since.has_value();
    }
  };
  struct OnDevice {
    EscalationState for_unmanaged;
    std::map<LeaseId, std::size_t> next_step;  // Of the leases that were chosen for that.
  };

  // ladder.cc
  Ladder ladder_above_budget(const Lease& lease) const;
  void escalate_lease(LeaseId id, Instant at);
  void escalate(LeaseId id, Cause cause, const Ladder& ladder, Instant at);
  std::size_t escalate_from(std::size_t next, LeaseId id, Cause cause, const Ladder& ladder,
                            Duration lasted);
  void escalate_for_unmanaged(const Account& account, Instant at);
  bool endangers_others(const Lease& lease) const;
  std::optional<LeaseId> next_victim(const Account& account, const OnDevice& device,
                                     Instant at) const;
  void notify(LeaseId id, Cause cause, const Ladder& ladder);

  // measures_taken.cc
  void take(LeaseId id, Cause cause, Measure measure);
  std::optional<std::string> why_not_taken(const Lease& lease, Measure measure) const;
  std::optional<std::string> why_not_suspended(const Lease& lease) const;
  void perform(LeaseId id, Measure measure);
  std::optional<MeasureEnded> outcome_of(const Lease& lease) const;
  bool was_sampled_since(const Held& held, Instant since) const;
  void end_measure(MeasureEnded fact);

  Ref<Decider> core_;
  Ref<const Devices> devices_;
  Ref<const Indexes> indexes_;
  Ref<const Attribution> attribution_;
  Ref<const PressureMonitor> pressure_;
  Ref<Saves> saves_;
  Ref<Transfers> transfers_;
  Ref<Displaced> displaced_;
  Ref<Requeuing> requeuing_;
  Ref<Lifecycle> lifecycle_;
  PerLease<OfLease> known_;
  std::map<DeviceId, OnDevice> on_;
};

}  // namespace berth::core
