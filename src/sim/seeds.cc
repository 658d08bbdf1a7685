// SPDX-License-Identifier: Apache-2.0
#include "sim/seeds.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace berth::sim {
namespace {

constexpr std::uint64_t kTwiceEvery = 20;

/// Hands out the seeds in order and adds up what came of them.
class Board {
 public:
  explicit Board(Range range) : range_(range) { summary_.journals.resize(range.count); }

  /// Nothing: all are taken, or one has broken a rule. Those before it are run to their end.
  std::optional<std::uint64_t> take() {
    const std::scoped_lock lock(mutex_);
    if (taken_ == range_.count || !summary_.broken.empty()) return std::nullopt;
    return range_.first + taken_++;
  }
  void add(std::uint64_t seed, const Outcome& outcome) {
    const std::scoped_lock lock(mutex_);
    ++summary_.seeds;
    summary_.events += outcome.events;
    summary_.uncounted += outcome.broken.empty() && !outcome.counts() ? 1U : 0U;
    summary_.coverage.add(outcome.coverage, outcome.has_jobs);
    summary_.journals[seed - range_.first] = outcome.journal_hash;
    for (std::size_t i = 0; i < Span::kParts; ++i) {
      summary_.kept[i] = std::max(summary_.kept[i], outcome.kept[i]);
    }
    const bool first = summary_.broken.empty() || seed < summary_.broken_seed;
    if (outcome.broken.empty() || !first) return;
    summary_.broken = outcome.broken;
    summary_.broken_seed = seed;
  }
  /// When all threads are done.
  Summary summary() const { return summary_; }

 private:
  std::mutex mutex_;
  const Range range_;
  std::uint64_t taken_ = 0;
  Summary summary_;
};

void work(Board& board, Range range, const std::function<void(std::uint64_t)>& before) {
  while (const std::optional<std::uint64_t> seed = board.take()) {
    if (before) before(*seed);
    Outcome outcome = run_seed(*seed, false, range.span);
    const bool twice = range.span == Duration{} && (*seed - range.first) % kTwiceEvery == 0;
    if (outcome.broken.empty() && twice &&
        run_seed(*seed, false).trace_hash != outcome.trace_hash) {
      outcome.broken = "a second run of the seed went another way";
    }
    board.add(*seed, outcome);
  }
}

}  // namespace

Outcome run_seed(std::uint64_t seed, bool printed, Duration span) {
  return World(seed, printed, span).run();
}

Summary run_seeds(Range range, std::size_t threads,
                  const std::function<void(std::uint64_t)>& before) {
  Board board(range);
  {
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i < std::max<std::size_t>(1, threads); ++i) {
      workers.emplace_back([&] { work(board, range, before); });
    }
  }
  return board.summary();
}

}  // namespace berth::sim
