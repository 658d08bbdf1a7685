// SPDX-License-Identifier: Apache-2.0
// Batches that fit: how a step that ran out of memory is tried again in smaller pieces, and how a
// size is found that need not be. Pure: the caller reports what happened, and it says what to try.
//
// Note [The batch stays the same]: what is learnt depends on how many samples make a step. So a
// micro-batch shrinks only to a divisor of the batch, and as many more of them are accumulated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace berth::vram {

/// micro * accumulation is the batch, always.
struct BatchPlan {
  std::uint64_t micro = 1;
  std::uint64_t accumulation = 1;
  friend bool operator==(const BatchPlan&, const BatchPlan&) = default;
};

struct BatchSettings {
  std::uint64_t batch = 1;
  std::uint64_t micro_max = 0;     // What to begin with, at most; 0: the batch.
  std::uint64_t micro_min = 1;     // Below it the step cannot be done.
  std::uint64_t grow_after = 100;  // Clean steps until the next larger size is tried; 0: never.
  std::uint64_t settle = 500;      // Steps until one that failed is tried once more.
  std::optional<Bytes> bytes_per_sample;  // For the estimate of what growth takes.
};

class Batch {
 public:
  /// kInvalid: sizes that make no sense. `remembered`: a micro-batch that has worked before; one
  /// that does not fit the settings is passed over.
  static Result<Batch> make(const BatchSettings& settings, std::optional<std::uint64_t> remembered);

  const BatchPlan& plan() const { return plan_; }
  /// The step ran out of memory: what to try it again with. kExhausted, with what to change, where
  /// there is nothing smaller.
  Result<BatchPlan> out_of_memory();
  /// The step was done. Grows after enough of them, if the estimate says that it fits into `room`
  /// or nothing is known; returns true if the plan has changed.
  bool clean_step(std::optional<Bytes> room);
  /// The largest size of which a step was done since the last failure at it.
  std::optional<std::uint64_t> worked() const { return worked_; }
  std::uint64_t failures() const { return failures_; }

 private:
  explicit Batch(const BatchSettings& settings) : settings_(settings) {}
  void set_micro(std::uint64_t micro);
  std::optional<std::uint64_t> smaller() const;
  std::optional<std::uint64_t> larger() const;

  BatchSettings settings_;
  BatchPlan plan_;
  std::uint64_t steps_ = 0;
  std::uint64_t clean_ = 0;  // Since the plan has changed.
  std::uint64_t failures_ = 0;
  std::optional<std::uint64_t> worked_;
  std::optional<std::uint64_t> failed_;  // The least size that ran out of memory,
  std::uint64_t failed_at_ = 0;          // at this step,
  std::uint64_t settle_ = 0;             // and how long it is left alone.
};

struct BatchGuess {
  Bytes free;      // Of the device and of the budget, the less.
  Bytes overhead;  // What is not for samples.
  Bytes model;
  double factor = 2.5;  // What a sample takes, in models.
};
/// max(1, floor((free - overhead) / (model * factor))): nothing but where to begin.
std::uint64_t first_guess(const BatchGuess& guess);

/// Looks for the largest size that fits, by trials: doubles from the guess while they fit, then
/// halves the gap. At most kTrialsMax.
class BatchSearch {
 public:
  static constexpr int kTrialsMax = 24;

  struct Settings {
    std::uint64_t guess = 1;
    std::uint64_t max = 1;
    double margin = 0.05;  // Of the size that fits, what is not used.
  };
  explicit BatchSearch(const Settings& settings);

  /// The size to try next; absent: the search is over.
  std::optional<std::uint64_t> next() const;
  void tried(std::uint64_t size, bool fits);
  /// The largest that fits less the margin, at least 1; absent: not even 1 does.
  std::optional<std::uint64_t> best() const;

 private:
  Settings settings_;
  int trials_ = 0;
  std::uint64_t fits_ = 0;       // The largest that does.
  std::uint64_t too_large_ = 0;  // The least that does not; 0: none yet.
};

}  // namespace berth::vram
