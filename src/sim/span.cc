// SPDX-License-Identifier: Apache-2.0
#include "sim/span.h"

#include <fmt/core.h>

#include <algorithm>
#include <variant>

#include "core/share.h"
#include "model/record.h"
#include "sim/heap.h"

namespace berth::sim {
namespace {

// Each seventh is measured ten times, and each time a lease may be there still.
constexpr std::uint64_t kGrowthMax = 4 << 10U;

// What users' sessions have had fills up to its bound in days.
core::Shares shares_of(const core::Coordinator& coordinator, core::Now now) {
  core::Shares shares;
  for (const Record& record : coordinator.snapshot(now)) {
    const auto* usage = std::get_if<UsageRestored>(&record.fact);
    if (usage == nullptr) continue;
    shares.restore({usage->user, usage->session}, usage->byte_seconds, usage->at, now.instant);
  }
  return shares;
}

}  // namespace

std::uint64_t Span::kept_by(const core::Coordinator& coordinator, core::Now now) {
  const core::Coordinator checked = coordinator.copy();
  const core::Shares shares = shares_of(checked, now);
  core::Shares again;
  return allocated_by([&] { const core::Coordinator whole = checked.copy(); }) -
         allocated_by([&] { again = shares; });
}

std::size_t Span::part_at(Duration elapsed) const {
  const std::int64_t part = length_.ns / std::int64_t{kParts} + 1;
  return std::min(static_cast<std::size_t>(elapsed.ns / part), kParts - 1);
}

void Span::measured(Duration elapsed, std::uint64_t bytes) {
  std::uint64_t& least = least_[part_at(elapsed)];
  least = std::min(least, bytes);
}

std::string Span::check_growth() const {
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
