// SPDX-License-Identifier: Apache-2.0
// The measures that were taken on one lease, as far as they survive: the last of each kind, one
// under way at most. Changed by records alone.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/units.h"
#include "model/ladder.h"
#include "model/record.h"

namespace berth::core {

class Measures {
 public:
  Measures() = default;
  explicit Measures(std::vector<MeasureTaken> taken) : taken_(std::move(taken)) {}

  /// False, and nothing changes, where the fact does not fit.
  bool begin(const MeasureBegun& fact, const Record& record);
  bool end(const MeasureEnded& fact);

  const std::vector<MeasureTaken>& taken() const { return taken_; }
  /// Null: none is.
  const MeasureTaken* under_way() const;
  /// Null: it was never taken.
  const MeasureTaken* last(Measure measure) const;
  std::uint64_t next_number() const { return taken_.empty() ? 1 : taken_.back().number + 1; }
  /// It was begun less than `apart` ago; one that was refused changed nothing and does not count.
  bool cools_down(Measure measure, Instant now, Duration apart) const;

 private:
  std::vector<MeasureTaken> taken_;  // In order of their numbers.
};

/// What was under way of a lease that has ended is over with it.
void close_with_lease(std::vector<MeasureTaken>& taken);

}  // namespace berth::core
