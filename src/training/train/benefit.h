// SPDX-License-Identifier: Apache-2.0
// Speedup by jumps: judged by the loss on a trial batch before and after them, against what as many
// real steps would have given, less what the judging costs. All of it is counted in real steps, not
// by the clock, so that a run can be repeated to the last bit. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "train/average.h"
#include "train/state_text.h"

namespace berth::train {

/// A length that was tried, as a share of the steps that the jump stands for.
struct Candidate {
  double share;
  double loss;  // On the trial batch.
};

/// The lengths that a validated jump is tried with.
inline constexpr double kShares[] = {0.5, 1, 2};

struct Trial {
  std::uint32_t steps = 0;    // What the jump stands for.
  double loss_before = 0;     // On the trial batch, as all losses here.
  double drop_per_step = 0;   // Of the real steps before it.
  double cost = 0;            // Of the trial, in real steps.
  double speedup_wanted = 0;  // In real steps for each predicted one.
};

struct Judgement {
  double share = 0;    // Of the jump that is to stand; 0: rejected.
  double loss = 0;     // With it.
  double speedup = 0;  // In real steps for each predicted one, 0 to kSpeedupMost.
};
inline constexpr double kSpeedupMost = 4;

/// The best of the candidates, if its speedup is the one that is wanted. Without a falling loss
/// before the jump nothing can be said of its speedup: it is 0. What is not finite is never taken.
Judgement judge(const Trial& trial, std::span<const Candidate> candidates);

class BenefitEstimate {
 public:
  BenefitEstimate() : speedup_(kDecay), net_(kDecay) {}

  void add(const Trial& trial, const Judgement& judgement);

  /// Mean speedup of the last jumps, 0 to 1; that of rejected ones is 0.
  std::optional<double> confidence() const;
  /// Real steps won by a jump, on the running average, its costs taken off.
  double net_steps() const { return net_.mean(); }
  /// No after kTrialsMin trials that did not win anything on average.
  bool pays() const;
  /// What was learnt elsewhere does not count any more.
  void begin_regime() { *this = BenefitEstimate(); }

  void visit(StateText& state);

  static constexpr std::uint64_t kTrialsMin = 4;

 private:
  static constexpr double kDecay = 0.8;
  Average speedup_;
  Average net_;
};

}  // namespace berth::train
