// SPDX-License-Identifier: Apache-2.0
// One guess of the speedup of a jump of some length, from what the steps before it looked like: a
// recurrent cell reads them, and linear heads on its state are the coefficients of a parabola in
// the length. It learns one judged jump at a time by Adam (Kingma, Ba 2014, arXiv 1412.6980), back
// through the last kSpeedupWindow steps. Pure; allocates nothing, and has no errors. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "train/gru.h"
#include "train/state_text.h"

namespace berth::train {

/// Steps through which the speedup of a jump is followed back.
inline constexpr std::size_t kSpeedupWindow = 16;

/// The last steps, the oldest first.
struct SpeedupHistory {
  std::array<double, kSpeedupWindow * kGruInputs> inputs{};
  std::uint32_t count = 0;  // Of steps that are in it.

  GruInput input(std::size_t i) const {
    return std::span(inputs).subspan(i * kGruInputs).first<kGruInputs>();
  }
  bool is_full() const { return count == kSpeedupWindow; }
  /// The oldest makes room.
  void add(GruInput input);
};

/// A judged jump.
struct SpeedupCase {
  SpeedupHistory history;  // Before it.
  double share = 0;        // Its length, of the greatest; above 0, at most 1.
  double speedup = 0;      // In real steps for each predicted one.
};

class SpeedupModel {
 public:
  static constexpr std::size_t kHeads = 3;
  static constexpr std::size_t kHeadRow = kGruHidden + 1;
  static constexpr std::size_t kWeights = kGruWeights + kHeads * kHeadRow;
  using Weights = std::array<double, kWeights>;

  /// Its first weights are decided by the seed.
  explicit SpeedupModel(std::uint64_t seed);

  GruHidden next(GruInput input, const GruHidden& before) const;
  GruHidden after(const SpeedupHistory& history, GruHidden before) const;
  /// In real steps for each predicted one.
  double speedup(const GruHidden& hidden, double share) const;

  /// One step towards what was seen; `before` is the state before the history.
  void learn(const SpeedupCase& jump, const GruHidden& before);
  /// Half the square of its error, and the derivative of that by the weights.
  double slopes_of(const SpeedupCase& jump, const GruHidden& before, Weights& slopes) const;

  Weights& weights() { return weights_; }
  /// Into the section that is open.
  void visit(StateText& state);

 private:
  GruWeights cell() const { return std::span(weights_).first<kGruWeights>(); }

  Weights weights_;
  Weights first_{};  // Moments of the slopes.
  Weights second_{};
  std::uint64_t updates_ = 0;
};

}  // namespace berth::train
