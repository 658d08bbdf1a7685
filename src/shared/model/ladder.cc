// SPDX-License-Identifier: Apache-2.0
#include "model/ladder.h"

#include <array>

#include "base/nearest.h"
#include "base/quantity.h"

namespace berth {
namespace {

constexpr Duration kAfterMax = hours(24);
constexpr Duration kKillAfterMin = seconds(1);

Error senseless(std::string text) {
  return {Errc::kInvalid, std::move(text)};
}

std::string in_quotes(std::string_view text) {
  return "'" + std::string(text) + "'";
}

// A lease inside its budget harms nobody, and is not ended for what others do.
std::optional<std::string> not_for(Measure measure, Cause cause) {
  if (cause == Cause::kLeaseCritical && measure >= Measure::kSuspend) {
    return "a lease inside its budget harms nobody: notify, cleanup and checkpoint alone may be "
           "its measures, not " +
           in_quotes(to_text(measure));
  }
  if (cause == Cause::kUnmanaged && measure == Measure::kKill) {
    return "no lease is ended for what programs without a lease do: notify, cleanup, checkpoint, "
           "suspend and requeue may be the measures, not 'kill'";
  }
  return std::nullopt;
}

Result<LadderStep> parse_ladder_step(const std::string& text) {
  const std::size_t at = text.find('@');
  const std::string_view word = std::string_view(text).substr(0, at);
  const std::optional<Measure> measure = parse_word<Measure>(word);
  if (!measure) {
    std::vector<std::string_view> known;
    known.reserve(kMeasureCount);
    for (std::size_t i = 0; i < kMeasureCount; ++i) {
      known.push_back(to_text(static_cast<Measure>(i)));
    }
    const auto meant = nearest(word, known);
    return senseless(in_quotes(word) +
                     " is no measure: notify, cleanup, checkpoint, suspend, requeue or kill" +
                     (meant ? "; did you mean " + in_quotes(*meant) + "?" : ""));
  }
  LadderStep ladder_step{.measure = *measure};
  if (at == std::string::npos) return ladder_step;
  const Result<Duration> after = parse_duration(text.substr(at + 1));
  const bool sound =
      after.ok() && after->ns > 0 && *after <= kAfterMax && after->ns % milliseconds(1).ns == 0;
  if (!sound) {
    return senseless(in_quotes(text) + " has no time such as \"" + std::string(word) +
                     "@30s\", of at most " + to_text(kAfterMax));
  }
  ladder_step.after = *after;
  return ladder_step;
}

}  // namespace

Ladder default_ladder(Cause cause) {
  switch (cause) {
    case Cause::kLeaseCritical:
      return {{Measure::kNotify}, {Measure::kCheckpoint}};
    case Cause::kOverBudget:
      return {{Measure::kNotify},
              {Measure::kCheckpoint, seconds(30)},
              {Measure::kSuspend, seconds(60)}};
    case Cause::kDeviceCritical:
    case Cause::kUnmanaged:
      break;
  }
  return {{Measure::kNotify}};
}

std::string to_text(const LadderStep& ladder_step) {
  std::string text(to_text(ladder_step.measure));
  if (!ladder_step.after) return text;
  struct Scale {
    std::int64_t ns;
    std::string_view name;
  };
  constexpr std::array<Scale, 3> kScales = {
      {{hours(1).ns, "h"}, {minutes(1).ns, "m"}, {seconds(1).ns, "s"}}};
  for (const Scale& unit : kScales) {
    if (ladder_step.after->ns % unit.ns != 0 ||
        (ladder_step.after->ns < 2 * unit.ns && unit.ns > seconds(1).ns))
      continue;
    return text + "@" + std::to_string(ladder_step.after->ns / unit.ns) + std::string(unit.name);
  }
  return text + "@" + std::to_string(ladder_step.after->ns / milliseconds(1).ns) + "ms";
}

Result<Ladder> parse_ladder(std::span<const std::string> ladder_steps, Cause cause) {
  Ladder ladder;
  std::optional<Duration> last;
  for (const std::string& text : ladder_steps) {
    TRY(ladder_step, parse_ladder_step(text));
    if (ladder.empty() && (ladder_step.measure != Measure::kNotify || ladder_step.after)) {
      return senseless("must begin with \"notify\": nobody meets a measure that was not announced");
    }
    if (const auto why_not = not_for(ladder_step.measure, cause)) return senseless(*why_not);
    if (!ladder.empty() && ladder_step.measure == ladder.back().measure) {
      return senseless(in_quotes(to_text(ladder_step.measure)) + " is in it twice");
    }
    if (!ladder.empty() && ladder_step.measure < ladder.back().measure) {
      return senseless(
          "has " + in_quotes(to_text(ladder_step.measure)) + " after " +
          in_quotes(to_text(ladder.back().measure)) +
          ", which is harder: the order is notify, cleanup, checkpoint, suspend, requeue, "
          "kill");
    }
    if (ladder_step.after && last && *ladder_step.after == *last) {
      return senseless("has " + in_quotes(text) + " at the time of the one before it");
    }
    if (ladder_step.after && last && *ladder_step.after < *last) {
      return senseless("has " + in_quotes(text) + " before what stands in front of it");
    }
    if (ladder_step.measure == Measure::kKill &&
        ladder_step.after.value_or(Duration{}) < kKillAfterMin) {
      return senseless("'kill' needs a time, such as \"kill@60s\": of " + to_text(kKillAfterMin) +
                       " or more");
    }
    if (ladder_step.after) last = ladder_step.after;
    ladder.push_back(ladder_step);
  }
  if (ladder.empty()) {
    return senseless("must not be empty: [\"notify\"] does no more than to announce it");
  }
  return ladder;
}

}  // namespace berth
