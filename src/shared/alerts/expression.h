// SPDX-License-Identifier: Apache-2.0
// Expressions of rules, as a person writes them: "gpu.mem_used > 88% for 30s clear 80%",
// "lease.ended result=failed". docs/alerts.md has the grammar. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "base/units.h"
#include "base/words.h"
#include "model/alert.h"
#include "model/checkpoint.h"
#include "model/lease.h"

namespace berth::alerts {

/// What there is to look at. A figure is compared, a flag is there or not, an event happens.
enum class Source : std::uint8_t {
  kGpuMemUsed,
  kGpuUnmanaged,
  kGpuGrantable,
  kGpuPressure,
  kGpuLost,
  kGpuUtilization,
  kGpuTemperature,
  kGpuPower,
  kGpuThrottled,
  kGpuEccErrors,
  kLeaseMemUsed,
  kLeaseUtilization,
  kLeasePressure,
  kLeaseWaiting,
  kLeaseOverBudget,
  kLeaseFrozen,
  kLeaseQueued,
  kLeaseGranted,
  kLeaseCheckpoint,
  kLeaseCheckpointed,
  kLeaseSuspended,
  kLeaseResumed,
  kLeaseRefused,
  kLeaseEnded,
  kLeaseMessage,
};
constexpr auto words_of(Source) {
  using enum Source;
  return make_words<Source>({{kGpuMemUsed, "gpu.mem_used"},
                             {kGpuUnmanaged, "gpu.unmanaged", "gpu.external"},
                             {kGpuGrantable, "gpu.grantable"},
                             {kGpuPressure, "gpu.pressure"},
                             {kGpuLost, "gpu.lost"},
                             {kGpuUtilization, "gpu.utilization"},
                             {kGpuTemperature, "gpu.temperature"},
                             {kGpuPower, "gpu.power"},
                             {kGpuThrottled, "gpu.throttled"},
                             {kGpuEccErrors, "gpu.ecc_errors"},
                             {kLeaseMemUsed, "lease.mem_used"},
                             {kLeaseUtilization, "lease.utilization"},
                             {kLeasePressure, "lease.pressure"},
                             {kLeaseWaiting, "lease.waiting"},
                             {kLeaseOverBudget, "lease.over_budget"},
                             {kLeaseFrozen, "lease.frozen"},
                             {kLeaseQueued, "lease.queued"},
                             {kLeaseGranted, "lease.granted"},
                             {kLeaseCheckpoint, "lease.checkpoint"},
                             {kLeaseCheckpointed, "lease.checkpointed"},
                             {kLeaseSuspended, "lease.suspended"},
                             {kLeaseResumed, "lease.resumed"},
                             {kLeaseRefused, "lease.refused"},
                             {kLeaseEnded, "lease.ended"},
                             {kLeaseMessage, "lease.message"}});
}

Alert::Subject::Kind about(Source source);
bool is_event(Source source);

/// Of what there is in all: of a device its capacity, of a lease its budget.
struct Percent {
  std::uint32_t value = 0;
  friend constexpr auto operator<=>(const Percent&, const Percent&) = default;
};
struct Celsius {
  std::uint32_t value = 0;
  friend constexpr auto operator<=>(const Celsius&, const Celsius&) = default;
};
struct Watts {
  std::uint32_t value = 0;
  friend constexpr auto operator<=>(const Watts&, const Watts&) = default;
};
using Threshold = std::variant<Bytes, Percent, Duration, Pressure, Celsius, Watts>;

enum class Comparison : std::uint8_t { kLess, kAtMost, kMore, kAtLeast };

struct Expression {
  Source source = Source::kGpuMemUsed;
  Comparison comparison = Comparison::kMore;  // Of a figure; it has a threshold.
  std::optional<Threshold> threshold;
  std::optional<Threshold> clear;  // It is over only beyond this. Absent: the threshold.
  Duration lasting;                // It must have been so for this long.
  // Which leases it is about; absent or empty: all.
  std::string name;  // A '*' at its end stands for the rest of a name.
  std::optional<EndResult> result;
  std::optional<CheckpointOutcome> outcome;
  friend bool operator==(const Expression&, const Expression&) = default;
};

inline constexpr std::size_t kExpressionMax = 256;  // Bytes.

/// kInvalid: a sentence that begins with the column, from 1.
Result<Expression> parse_expression(std::string_view text);
/// As it would be written; parsed again, it is the same.
std::string to_text(const Expression& expression);

}  // namespace berth::alerts
