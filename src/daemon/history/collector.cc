// SPDX-License-Identifier: Apache-2.0
#include "history/collector.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "history/rollup.h"

namespace berth::history {
namespace {

// No device has a pebibyte, and sums of what is below it fit.
constexpr Bytes kValueMax = gib(std::uint64_t{1} << 20U);
constexpr std::uint64_t kLooksMax = 8'000;  // In one second.

}  // namespace

Bucket Collector::bucket_of(const Second& second) {
  return {.start = second.at,
          .known = 1,
          .least = second.least,
          .most = second.most,
          .total = second.sum / second.count};
}

void Collector::add(const Reading& reading, UnixMs at) {
  auto found = gathered_.find(reading.subject);
  if (found == gathered_.end()) {
    if (gathered_.size() >= kSubjectsMax) {
      ++left_out_;
      return;
    }
    found = gathered_.emplace(reading.subject, Gathered{reading.name, reading.user}).first;
  }
  std::vector<Second>& seconds = found->second.seconds;
  const std::int64_t second = start_of(at.value, 1'000) / 1'000;
  const Bytes value = std::min(reading.value, kValueMax);
  // A clock that was set back begins anew; what it tells twice is put together when it is written.
  if (seconds.empty() || seconds.back().at != second) {
    if (seconds.size() >= kSecondsMax) {
      ++left_out_;
      return;
    }
    seconds.push_back({.at = second, .least = value, .most = value});
  }
  Second& last = seconds.back();
  if (last.count == kLooksMax) return;
  last.least = std::min(last.least, value);
  last.most = std::max(last.most, value);
  last.sum += value.value;
  ++last.count;
}

std::vector<Series> Collector::take_before(UnixMs at) {
  const std::int64_t open = start_of(at.value, 1'000) / 1'000;
  std::vector<Series> all;
  for (auto it = gathered_.begin(); it != gathered_.end();) {
    auto& [subject, gathered] = *it;
    Series series{.subject = subject, .name = gathered.name, .user = gathered.user};
    std::vector<Second> kept;
    for (const Second& second : gathered.seconds) {
      if (second.at == open) {
        kept.push_back(second);
      } else {
        series.buckets.push_back(bucket_of(second));
      }
    }
    std::ranges::sort(series.buckets, {}, &Bucket::start);
    if (!series.buckets.empty()) all.push_back(std::move(series));
    gathered.seconds = std::move(kept);
    it = gathered.seconds.empty() ? gathered_.erase(it) : std::next(it);
  }
  return all;
}

std::vector<Series> Collector::take_all() {
  return take_before({std::numeric_limits<std::int64_t>::min() + 1'000});
}

}  // namespace berth::history
