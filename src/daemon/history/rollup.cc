// SPDX-License-Identifier: Apache-2.0
#include "history/rollup.h"

#include <algorithm>
#include <array>

namespace berth::history {
namespace {

constexpr std::uint32_t kMinute = 60;
constexpr std::int64_t kStepsWanted = 60;
constexpr std::array<std::uint32_t, 16> kSteps = {
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1'800, 3'600, 7'200, 21'600, 43'200, 86'400};

bool is_constant(const Bucket& bucket) {
  return bucket.least == bucket.most;
}

// The part of a run that lies within a stretch.
Bucket part_of(const Bucket& run, std::int64_t from, std::int64_t to) {
  const std::int64_t begin = std::max(run.start, from);
  const std::int64_t end = std::min(run.start + run.known, to);
  const auto length = static_cast<std::uint32_t>(end - begin);
  return {.start = from,
          .known = length,
          .least = run.least,
          .most = run.most,
          .total = run.least.value * length};
}

void put(std::vector<Bucket>& into, const Bucket& bucket) {
  if (!into.empty() && into.back().start == bucket.start) {
    into.back() = merged(into.back(), bucket);
  } else {
    into.push_back(bucket);
  }
}

}  // namespace

Duration kept_for(Grain grain, const Retention& retention) {
  switch (grain) {
    case Grain::kSecond:
      return retention.second;
    case Grain::kMinute:
      return retention.minute;
    case Grain::kHour:
      break;
  }
  return retention.hour;
}

std::int64_t start_of(std::int64_t second, std::uint32_t step) {
  const std::int64_t past = second % step;
  return second - (past < 0 ? past + step : past);
}

Bucket merged(const Bucket& a, const Bucket& b) {
  return {.start = std::min(a.start, b.start),
          .known = a.known + b.known,
          .least = std::min(a.least, b.least),
          .most = std::max(a.most, b.most),
          .total = a.total + b.total};
}

Bucket bounded(const Bucket& bucket, std::uint32_t step) {
  if (bucket.known <= step) return bucket;
  Bucket whole = bucket;
  whole.known = step;
  whole.total = bucket.total / bucket.known * step;
  return whole;
}

std::vector<Bucket> runs_of(std::span<const Bucket> seconds) {
  std::vector<Bucket> runs;
  for (const Bucket& second : seconds) {
    const bool goes_on = !runs.empty() && is_constant(runs.back()) && is_constant(second) &&
                         runs.back().least == second.least &&
                         runs.back().start + runs.back().known == second.start &&
                         start_of(second.start, kMinute) == start_of(runs.back().start, kMinute);
    if (goes_on) {
      runs.back() = merged(runs.back(), second);
    } else {
      runs.push_back(second);
    }
  }
  return runs;
}

std::vector<Bucket> rolled_up(std::span<const Bucket> buckets, std::uint32_t step) {
  std::vector<Bucket> result;
  for (const Bucket& bucket : buckets) {
    std::int64_t from = start_of(bucket.start, step);
    const bool is_run = is_constant(bucket) && bucket.start + bucket.known > from + step;
    if (!is_run) {
      Bucket whole = bucket;
      whole.start = from;
      put(result, whole);
      continue;
    }
    for (; from < bucket.start + bucket.known; from += step) {
      put(result, part_of(bucket, from, from + step));
    }
  }
  return result;
}

std::uint32_t step_for(Duration time) {
  const std::int64_t wanted = time.ns / seconds(1).ns / kStepsWanted;
  const auto* found = std::ranges::find_if(
      kSteps, [&](std::uint32_t step) { return static_cast<std::int64_t>(step) >= wanted; });
  return found == kSteps.end() ? kSteps.back() : *found;
}

Grain grain_for(std::uint32_t step, Duration back, const Retention& retention) {
  for (const Grain grain : {Grain::kHour, Grain::kMinute, Grain::kSecond}) {
    if (step % seconds_of(grain) == 0 && back <= kept_for(grain, retention)) return grain;
  }
  for (const Grain grain : {Grain::kSecond, Grain::kMinute}) {
    if (seconds_of(grain) >= step && back <= kept_for(grain, retention)) return grain;
  }
  return Grain::kHour;
}

std::uint32_t step_from(Grain grain, std::uint32_t step) {
  const std::uint32_t least = seconds_of(grain);
  return (step + least - 1) / least * least;
}

}  // namespace berth::history
