// SPDX-License-Identifier: Apache-2.0
// The ladder of measures: what is done about pressure, step by step, as an operator writes it, and
// what was done to a lease. Plain data, and the rules for what makes sense.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "base/units.h"
#include "base/words.h"

namespace berth {

/// From the mildest to the hardest: a ladder has them in this order.
enum class Measure : std::uint8_t { kNotify, kCleanup, kCheckpoint, kSuspend, kRequeue, kKill };
constexpr auto words_of(Measure) {
  using enum Measure;
  return make_words<Measure>({{kNotify, "notify"},
                              {kCleanup, "cleanup"},
                              {kCheckpoint, "checkpoint"},
                              {kSuspend, "suspend"},
                              {kRequeue, "requeue"},
                              {kKill, "kill"}});
}
inline constexpr std::size_t kMeasureCount = 6;

/// Why a measure is taken; each has a ladder of its own.
enum class Cause : std::uint8_t {
  kLeaseCritical,   // A lease uses nearly all of its own budget.
  kDeviceCritical,  // Others on the device lack what they were granted, and it is above its budget.
  kUnmanaged,       // They lack it, and nobody is: programs without a lease have taken it.
  kOverBudget,      // It is above its budget, whether that is a danger to anybody or not.
};
constexpr auto words_of(Cause) {
  using enum Cause;
  return make_words<Cause>({{kLeaseCritical, "lease_critical"},
                            {kDeviceCritical, "device_critical"},
                            {kUnmanaged, "unmanaged", "strangers"},
                            {kOverBudget, "over_budget"}});
}
inline constexpr std::size_t kCauseCount = 4;

struct LadderStep {
  Measure measure = Measure::kNotify;
  /// Not before it has lasted for so long. Absent: as soon as the rung before is over.
  std::optional<Duration> after = {};
  friend constexpr auto operator<=>(const LadderStep&, const LadderStep&) = default;
};
using Ladder = std::vector<LadderStep>;

/// What is built in.
Ladder default_ladder(Cause cause);

/// Of "suspend@60s" and the like. The error says what is wrong, and what would be right.
Result<Ladder> parse_ladder(std::span<const std::string> ladder_steps, Cause cause);
std::string to_text(const LadderStep& ladder_step);

enum class MeasureOutcome : std::uint8_t {
  kConfirmed,
  kFailed,
  kRefused,  // It could not even be begun.
};
constexpr auto words_of(MeasureOutcome) {
  using enum MeasureOutcome;
  return make_words<MeasureOutcome>(
      {{kConfirmed, "confirmed"}, {kFailed, "failed"}, {kRefused, "refused"}});
}

/// A measure that was taken on a lease. Without an outcome it is under way.
struct MeasureTaken {
  std::uint64_t number = 0;  // Of a lease, from 1.
  Measure measure = Measure::kNotify;
  Cause cause = Cause::kOverBudget;
  std::uint64_t save = 0;  // The number of the save that it is, or that comes first.
  Instant begun;
  UnixMs at;
  std::optional<MeasureOutcome> outcome;
  std::string detail;  // For people.
  friend auto operator<=>(const MeasureTaken&, const MeasureTaken&) = default;
};
constexpr auto fields_of(Is<MeasureTaken> auto*) {
  return fields(
      {"MeasureTaken", "What was done to a lease because of pressure."},
      field("number", &MeasureTaken::number, "Of the lease's measures, from 1.").required().from(1),
      field("measure", &MeasureTaken::measure, "Which.").required(side::kJournal),
      field("cause", &MeasureTaken::cause, "Why.").required(side::kJournal),
      kept("save", &MeasureTaken::save), kept("begun", &MeasureTaken::begun).required(),
      field("at", &MeasureTaken::at, "When it was begun.")
          .required(side::kJournal)
          .called("time", side::kWire),
      field("outcome", &MeasureTaken::outcome, "What came of it; null: it is under way."),
      field("detail", &MeasureTaken::detail,
            "For people; null where there is none, or command lines are not shown to you.")
          .kept_from(Secret::kCommand));
}

}  // namespace berth
