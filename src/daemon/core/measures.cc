// SPDX-License-Identifier: Apache-2.0
#include "core/measures.h"

#include <algorithm>

namespace berth::core {

bool Measures::begin(const MeasureBegun& fact, const Record& record) {
  if (under_way() != nullptr || fact.number < next_number()) return false;
  std::erase_if(taken_, [&](const MeasureTaken& old) { return old.measure == fact.measure; });
  taken_.push_back({.number = fact.number,
                    .measure = fact.measure,
                    .cause = fact.cause,
                    .save = fact.save,
                    .begun = record.at,
                    .at = record.wall,
                    .outcome = {},
                    .detail = {}});
  return true;
}

bool Measures::end(const MeasureEnded& fact) {
  const auto found = std::ranges::find(taken_, fact.number, &MeasureTaken::number);
  if (found == taken_.end() || found->outcome) return false;
  found->outcome = fact.outcome;
  found->detail = fact.detail;
  return true;
}

const MeasureTaken* Measures::under_way() const {
  const bool is_one = !taken_.empty() && !taken_.back().outcome;
  return is_one ? &taken_.back() : nullptr;
}

const MeasureTaken* Measures::last(Measure measure) const {
  const auto found = std::ranges::find(taken_, measure, &MeasureTaken::measure);
  return found == taken_.end() ? nullptr : &*found;
}

bool Measures::cools_down(Measure measure, Instant now, Duration apart) const {
  const MeasureTaken* before = last(measure);
  return before != nullptr && before->outcome != MeasureOutcome::kRefused &&
         now - before->begun < apart;
}

void close_with_lease(std::vector<MeasureTaken>& taken) {
  if (taken.empty() || taken.back().outcome) return;
  const bool was_to_end = taken.back().measure == Measure::kKill;
  taken.back().outcome = was_to_end ? MeasureOutcome::kConfirmed : MeasureOutcome::kFailed;
  if (!was_to_end) taken.back().detail = "it has ended meanwhile";
}

}  // namespace berth::core
