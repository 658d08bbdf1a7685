// SPDX-License-Identifier: Apache-2.0
#include "core/slicing.h"

#include <algorithm>
#include <utility>

namespace berth::core {
namespace {

// What a driver takes for a process that has nothing, and how fast it copies. To be measured where
// that can be; wrong figures cost one turn that is too long or too short.
constexpr Duration kMoveTakes = milliseconds(350);
constexpr std::uint64_t kBytesPerMs = 5'000'000;

}  // namespace

Duration guessed_move(Bytes bytes) {
  const auto ms = static_cast<std::int64_t>(bytes.value / kBytesPerMs);
  return kMoveTakes + milliseconds(ms);
}

void TurnCost::learn(std::optional<Duration>& known, Duration took) {
  const bool falls = known && took < *known;
  known = falls ? Duration{(known->ns + took.ns) / 2} : took;
}

Duration TurnCost::of(Bytes used) const {
  // One direction says more of the other than a guess does.
  const Duration guess = guessed_move(used);
  return out_.value_or(back_.value_or(guess)) + back_.value_or(out_.value_or(guess));
}

Duration turn_length(Duration cost, const TurnTerms& terms) {
  if (terms.loss_percent == 0) return terms.least;
  const auto times = static_cast<std::int64_t>(100 / std::min(terms.loss_percent, 100U));
  return std::max(terms.least, Duration{cost.ns * times});
}

TurnEnds who_ends_turn(std::vector<Running> running, Bytes missing) {
  if (missing == Bytes{}) return {};
  std::erase_if(running, [](const Running& one) { return one.frees == Bytes{}; });
  std::ranges::sort(running, [](const Running& a, const Running& b) {
    return std::pair(a.over, a.lease) < std::pair(b.over, b.lease);
  });
  Bytes freed;
  std::vector<Running> chosen;
  for (const Running& one : running) {
    if (freed >= missing) break;
    freed += one.frees;
    chosen.push_back(one);
  }
  if (freed < missing) return {};
  for (auto one = chosen.begin(); one != chosen.end();) {
    const bool is_needed = saturating_sub(freed, one->frees) < missing;
    if (is_needed) {
      ++one;
      continue;
    }
    freed = saturating_sub(freed, one->frees);
    one = chosen.erase(one);
  }
  TurnEnds ends{.leases = {}, .at = Instant{}};
  for (const Running& one : chosen) {
    ends.leases.push_back(one.lease);
    ends.at = std::max(ends.at, one.over);
  }
  return ends;
}

}  // namespace berth::core
