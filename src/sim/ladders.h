// SPDX-License-Identifier: Apache-2.0
// The measures of a lease as the simulator knows them, and the rules for them: a lease inside its
// budget meets no more than a notice and the save that it allows, no measure comes twice within its
// cool-down or before its time, and each ends. Nothing here is taken from src/daemon/core.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/units.h"
#include "core/event.h"
#include "model/device.h"
#include "model/ladder.h"
#include "model/lease.h"
#include "model/record.h"

namespace berth::sim {

struct Observations;
struct ReferenceLease;

/// As the journal tells them.
class ReferenceMeasures {
 public:
  bool begin(const MeasureBegun& fact, Instant at);
  bool end(const MeasureEnded& fact);
  void restore(const LeaseView& view);

  /// Without an outcome.
  const std::optional<MeasureTaken>& under_way() const { return under_way_; }
  bool is_under_way(Measure measure) const { return under_way_ && under_way_->measure == measure; }
  /// The last time that it was begun and not refused.
  std::optional<Instant> begun(Measure measure) const;
  std::string describe() const;

 private:
  std::optional<MeasureTaken> under_way_;
  std::map<Measure, Instant> begun_;
  std::uint64_t last_number_ = 0;
};

/// Since when each sample has found a lease above its budget.
class AboveBudget {
 public:
  void sampled(const Observations& observations, const Sample& sample);
  /// For how long, by the last sample; absent: it is not.
  std::optional<Duration> lasted(LeaseId lease) const;

 private:
  std::map<LeaseId, Instant> since_;
  Instant last_;
};

/// A measure that was just written; `before` is how the lease stood before.
std::string check_measure(const Observations& observations, const ReferenceLease& before,
                          const MeasureBegun& fact, core::Now now);
/// When what is under way has to be over; never where nothing is.
Instant measure_due(const Observations& observations, const ReferenceLease& lease);

}  // namespace berth::sim
