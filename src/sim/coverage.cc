// SPDX-License-Identifier: Apache-2.0
#include "sim/coverage.h"

#include <fmt/core.h>

#include <numeric>

namespace berth::sim {
namespace {

constexpr std::array<std::string_view, kFaultCount> kFaults = {
    "client hangs up",
    "client killed",
    "command killed",
    "never claims",
    "ignores SIGTERM",
    "child outlives command",
    "double fork",
    "message slow",
    "message cut",
    "message twice",
    "reader stalls",
    "daemon killed",
    "daemon killed inside",
    "power cut",
    "write torn",
    "write fails",
    "disk full",
    "wall time jumps",
    "unmanaged process grows",
    "probe slow",
    "probe fails",
    "driver gone",
    "driver lies",
    "device lost",
    "slow teardown",
    "leak",
    "pid reused",
    "settings changed",
    "move fails",
    "move cut",
};
constexpr std::array<std::string_view, kTransitionCount> kTransitions = {
    "queued",
    "passed",
    "parked",
    "unparked",
    "withdrawn",
    "granted",
    "granted passing",
    "lapsed",
    "claimed",
    "shrunk",
    "grown",
    "growth queued",
    "growth dropped",
    "renewed",
    "member seen",
    "member gone",
    "command ended",
    "revoked",
    "releasing",
    "save asked",
    "save ended",
    "ended ok",
    "ended failed",
    "ended killed",
    "ended cancelled",
    "ended limit",
    "ended refused",
    "ended lost",
    "ended over budget",
    "ended detached",
    "suspend begun",
    "suspended",
    "suspend undone",
    "resume queued",
    "resume begun",
    "resumed",
    "requeue asked",
    "requeue begun",
    "requeue dropped",
    "requeued",
    "frozen",
    "thawed",
    "turn ended",
    "turn taken",
    "measure begun",
    "measure confirmed",
    "measure failed",
    "measure refused",
    "paused",
    "moved",
    "progress told",
};
static_assert(static_cast<std::size_t>(Fault::kMoveCut) + 1 == kFaultCount);
static_assert(static_cast<std::size_t>(Transition::kProgressTold) + 1 == kTransitionCount);

}  // namespace

std::string_view to_text(Fault fault) {
  return kFaults[static_cast<std::size_t>(fault)];
}
std::string_view to_text(Transition transition) {
  return kTransitions[static_cast<std::size_t>(transition)];
}

std::uint64_t Coverage::faults() const {
  return std::accumulate(faults_.begin(), faults_.end(), std::uint64_t{0});
}

void CoverageOfSeeds::add(const Coverage& coverage) {
  const auto count = [](auto& rows, const auto& times) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].times += times[i];
      rows[i].seeds += times[i] > 0 ? 1U : 0U;
    }
  };
  ++seeds_;
  count(faults_, coverage.by_fault());
  count(transitions_, coverage.by_transition());
}

std::string_view CoverageOfSeeds::missed() const {
  const auto rare = [&](const Row& row) { return row.seeds * 100 < seeds_ || row.seeds == 0; };
  for (std::size_t i = 0; i < kFaultCount; ++i) {
    if (rare(faults_[i])) return kFaults[i];
  }
  for (std::size_t i = 0; i < kTransitionCount; ++i) {
    if (rare(transitions_[i])) return kTransitions[i];
  }
  return {};
}

std::string CoverageOfSeeds::faults_told() const {
  std::string text;
  for (std::size_t i = 0; i < kFaultCount; ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", kFaults[i], faults_[i].times);
  }
  return text;
}

void CoverageOfSeeds::print() const {
  const auto table = [&](std::string_view title, const auto& names, const auto& rows) {
    fmt::print("{:<24} {:>10} {:>12}\n", title, "seeds", "times");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      fmt::print("  {:<22} {:>8.1f} % {:>12}\n", names[i],
                 100.0 * static_cast<double>(rows[i].seeds) / static_cast<double>(seeds_),
                 rows[i].times);
    }
  };
  table("fault", kFaults, faults_);
  table("transition", kTransitions, transitions_);
}

}  // namespace berth::sim
