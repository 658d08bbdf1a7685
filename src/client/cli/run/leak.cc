// SPDX-License-Identifier: Apache-2.0
#include "cli/run/leak.h"

#include <algorithm>
#include <array>

#include "base/quantity.h"

namespace berth::cli {
namespace {

constexpr std::int64_t kSecondsMin = 20;
constexpr Bytes kGrowthMin = mib(64);
constexpr std::uint64_t kPercentMin = 10;  // Of what there was.
constexpr std::size_t kParts = 4;
// Of the whole growth, what one part may have at most: more than this is a step.
constexpr std::uint64_t kPartPercentMax = 60;

// The lowest point of each part of the time: a program that frees what it took has none that rises.
std::optional<std::array<Bytes, kParts>> floors_of(std::span<const history::Bucket> buckets,
                                                   std::int64_t begin, std::int64_t end) {
  std::array<std::optional<Bytes>, kParts> found;
  for (const history::Bucket& bucket : buckets) {
    if (bucket.start < begin) continue;
    const std::int64_t at = (bucket.start - begin) * static_cast<std::int64_t>(kParts);
    std::optional<Bytes>& floor = found.at(std::min(
        static_cast<std::size_t>(at / std::max<std::int64_t>(end - begin, 1)), kParts - 1));
    floor = std::min(floor.value_or(Bytes::max()), bucket.least);
  }
  std::array<Bytes, kParts> floors;
  for (std::size_t i = 0; i < kParts; ++i) {
    const std::optional<Bytes>& floor = found.at(i);
    if (!floor) return std::nullopt;
    floors.at(i) = *floor;
  }
  return floors;
}

}  // namespace

std::optional<Leak> leak_in(std::span<const history::Bucket> buckets) {
  // A sample may have come when it had ended, and before it was asked for here.
  while (!buckets.empty() && buckets.back().least == Bytes{}) {
    buckets = buckets.first(buckets.size() - 1);
  }
  if (buckets.empty()) return std::nullopt;
  const std::int64_t first = buckets.front().start;
  const std::int64_t end = buckets.back().start;
  if (end - first < kSecondsMin) return std::nullopt;
  const std::int64_t begin = first + (end - first) / 3;
  const auto floors = floors_of(buckets, begin, end);
  if (!floors) return std::nullopt;
  const Bytes growth = saturating_sub(floors->back(), floors->front());
  if (growth < kGrowthMin) return std::nullopt;
  if (growth.value / kPercentMin < floors->front().value / 100) return std::nullopt;
  for (std::size_t i = 1; i < kParts; ++i) {
    const Bytes part = saturating_sub(floors->at(i), floors->at(i - 1));
    if (part == Bytes{} || part.value > growth.value / 100 * kPartPercentMax) return std::nullopt;
  }
  // From the beginning of the first part to that of the last lies three quarters of it.
  const auto counted = static_cast<std::uint64_t>(std::max<std::int64_t>((end - begin) * 3 / 4, 1));
  return Leak{.growth = growth,
              .span = seconds(static_cast<std::int64_t>(counted)),
              .a_minute = {growth.value / counted * 60}};
}

std::string leak_text(const Leak& leak) {
  return "its memory grew all the while, by about " + to_text(leak.a_minute) + " a minute (" +
         to_text(leak.growth) + " in " + to_text(leak.span) +
         "): a leak? (berth history --of lease shows it)";
}

}  // namespace berth::cli
