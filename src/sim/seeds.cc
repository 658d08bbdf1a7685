// SPDX-License-Identifier: Apache-2.0
#include "sim/seeds.h"

namespace berth::sim {

Outcome run_seed(std::uint64_t seed, bool printed) {
  return World(seed, printed).run();
}

Summary run_seeds(Range range, const std::function<void(std::uint64_t)>& before) {
  constexpr std::uint64_t kTwiceEvery = 20;
  Summary summary;
  for (std::uint64_t i = 0; i < range.count && summary.broken.empty(); ++i) {
    const std::uint64_t seed = range.first + i;
    if (before) before(seed);
    const Outcome outcome = run_seed(seed, false);
    ++summary.seeds;
    summary.events += outcome.events;
    summary.uncounted += outcome.counts() ? 0U : 1U;
    summary.coverage.add(outcome.coverage);
    summary.broken = outcome.broken;
    if (summary.broken.empty() && i % kTwiceEvery == 0 &&
        run_seed(seed, false).trace_hash != outcome.trace_hash) {
      summary.broken = "a second run of the seed went another way";
    }
    if (!summary.broken.empty()) summary.broken_seed = seed;
  }
  return summary;
}

}  // namespace berth::sim
