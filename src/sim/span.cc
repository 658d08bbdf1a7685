// SPDX-License-Identifier: Apache-2.0
#include "sim/span.h"

#include <fmt/core.h>

#include <algorithm>

#include "sim/heap.h"

namespace berth::sim {
namespace {

// Some tables fill up to their bound first: of users' sessions, by `fair`.
constexpr std::uint64_t kGrowthMax = 16 << 10U;

}  // namespace

std::uint64_t Span::kept_by(const core::Coordinator& coordinator) {
  const core::Coordinator present = coordinator.copy();
  return allocated_by([&] { const core::Coordinator again = present.copy(); });
}

std::size_t Span::part_at(Duration elapsed) const {
  const std::int64_t part = length_.ns / std::int64_t{kParts} + 1;
  return std::min(static_cast<std::size_t>(elapsed.ns / part), kParts - 1);
}

void Span::measured(Duration elapsed, std::uint64_t bytes) {
  std::uint64_t& least = least_[part_at(elapsed)];
  least = std::min(least, bytes);
}

std::string Span::broken_by_growth() const {
  const std::uint64_t first = least_.front();
  const std::uint64_t last = least_.back();
  const bool is_whole = std::ranges::find(least_, ~std::uint64_t{0}) == least_.end();
  if (!is_whole) return "what the coordinator keeps was not measured in each part of its time";
  if (last <= first + first / 10 + kGrowthMax) return {};
  return fmt::format(
      "the coordinator keeps {} bytes in the last part of its time, and {} in the first", last,
      first);
}

}  // namespace berth::sim
