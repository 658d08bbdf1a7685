// SPDX-License-Identifier: Apache-2.0
#include "core/run_history.h"

#include <algorithm>
#include <cstddef>
#include <ranges>

#include "base/fnv1a.h"
#include "core/limits.h"

namespace berth::core {
namespace {

// A command line may be long, and is nobody's business in a list of sizes.
std::uint64_t fingerprint_of(std::string_view command) {
  return fnv1a(command);
}

}  // namespace

Bytes with_margin(Bytes peak) {
  const std::uint64_t step = mib(64).value;
  const std::uint64_t wanted = peak.value + std::max(peak.value / 16, step);
  return {(wanted + step - 1) / step * step};
}

RunHistory::Past& RunHistory::past_of(UserId user, std::uint64_t fingerprint) {
  Past& past = commands_[{user, fingerprint}];
  past.turn = ++turns_;
  if (commands_.size() > limits::kCommandsKept) forget_one();
  return past;
}

// Of the user who has most: nobody's many commands push out another's few.
void RunHistory::forget_one() {
  std::map<UserId, std::size_t> count;
  for (const auto& [key, past] : commands_) ++count[key.first];
  const std::size_t most = std::ranges::max(count | std::views::values);
  auto oldest = commands_.end();
  for (auto i = commands_.begin(); i != commands_.end(); ++i) {
    if (count.at(i->first.first) != most) continue;
    if (oldest == commands_.end() || i->second.turn < oldest->second.turn) oldest = i;
  }
  commands_.erase(oldest);
}

void RunHistory::add(UserId user, std::string_view command, PastRun run) {
  std::vector<PastRun>& runs = past_of(user, fingerprint_of(command)).runs;
  if (runs.size() >= limits::kRunsKept) runs.erase(runs.begin());
  runs.push_back(run);
}

void RunHistory::restore(const CommandRestored& fact) {
  past_of(fact.user, fact.fingerprint).runs = fact.runs;
}

// A run that was refused memory says what was too little, and not what is enough.
std::optional<Bytes> RunHistory::budget_for(UserId user, std::string_view command) const {
  const auto found = commands_.find({user, fingerprint_of(command)});
  if (found == commands_.end() || found->second.runs.empty()) return std::nullopt;
  const std::vector<PastRun>& runs = found->second.runs;
  if (runs.back().refused) return std::nullopt;
  Bytes peak;
  for (const PastRun& run : runs) {
    if (!run.refused) peak = std::max(peak, run.peak);
  }
  return with_margin(peak);
}

std::vector<CommandRestored> RunHistory::all() const {
  std::vector<std::pair<std::uint64_t, CommandRestored>> in_turn;
  in_turn.reserve(commands_.size());
  for (const auto& [key, past] : commands_) {
    in_turn.emplace_back(past.turn, CommandRestored{key.first, key.second, past.runs});
  }
  std::ranges::sort(in_turn, {}, [](const auto& entry) { return entry.first; });
  std::vector<CommandRestored> all;
  all.reserve(in_turn.size());
  for (auto& [turn, fact] : in_turn) all.push_back(std::move(fact));
  return all;
}

}  // namespace berth::core
