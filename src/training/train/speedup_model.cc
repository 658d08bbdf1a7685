// SPDX-License-Identifier: Apache-2.0
#include "train/speedup_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "train/shuffle.h"

namespace berth::train {
namespace {

constexpr double kSpeedupRate = 0.02;
constexpr double kSpeedupBeta1 = 0.9;
constexpr double kSpeedupBeta2 = 0.99;
constexpr double kSpeedupEpsilon = 1e-8;
constexpr double kSlopeMost = 1;  // Norm of the slopes; larger ones are scaled down to it.
constexpr double kHeadReach = 0.5;

// Legendre's polynomials up to the second degree: near to independent of one another over all
// lengths, so that learning one coefficient does not undo another.
std::array<double, SpeedupModel::kHeads> powers_of(double share) {
  const double place = 2 * share - 1;
  return {1, place, (3 * place * place - 1) / 2};
}

}  // namespace

void SpeedupHistory::add(GruInput input) {
  if (is_full()) {
    std::ranges::copy(std::span(inputs).subspan<kGruInputs>(), inputs.begin());
    --count;
  }
  std::ranges::copy(input, std::span(inputs).subspan(count * kGruInputs).begin());
  ++count;
}

SpeedupModel::SpeedupModel(std::uint64_t seed) {
  const double cell_reach = 1 / std::sqrt(static_cast<double>(kGruHidden));
  for (std::size_t i = 0; i < kWeights; ++i) {
    const double chance = static_cast<double>(mixed(mixed(seed) + i) >> 11U) * 0x1p-52 - 1;
    weights_[i] = chance * (i < kGruWeights ? cell_reach : kHeadReach);
  }
}

GruHidden SpeedupModel::next(GruInput input, const GruHidden& before) const {
  return gru_step(cell(), input, before).after;
}

GruHidden SpeedupModel::after(const SpeedupHistory& history, GruHidden before) const {
  for (std::size_t i = 0; i < history.count; ++i) before = next(history.input(i), before);
  return before;
}

double SpeedupModel::speedup(const GruHidden& hidden, double share) const {
  const auto powers = powers_of(share);
  double sum = 0;
  for (std::size_t head = 0; head < kHeads; ++head) {
    const double* row = &weights_[kGruWeights + head * kHeadRow];
    double coefficient = row[kGruHidden];
    for (std::size_t i = 0; i < kGruHidden; ++i) coefficient += row[i] * hidden[i];
    sum += coefficient * powers[head];
  }
  return sum;
}

double SpeedupModel::slopes_of(const SpeedupCase& jump, const GruHidden& before,
                               Weights& slopes) const {
  std::array<GruTrace, kSpeedupWindow> traces;
  GruHidden hidden = before;
  for (std::size_t i = 0; i < jump.history.count; ++i) {
    traces[i] = gru_step(cell(), jump.history.input(i), hidden);
    hidden = traces[i].after;
  }
  const double error = speedup(hidden, jump.share) - jump.speedup;
  const auto powers = powers_of(jump.share);
  slopes.fill(0);
  GruHidden hidden_slopes{};
  for (std::size_t head = 0; head < kHeads; ++head) {
    const std::size_t row = kGruWeights + head * kHeadRow;
    const double slope = error * powers[head];
    for (std::size_t i = 0; i < kGruHidden; ++i) {
      slopes[row + i] = slope * hidden[i];
      hidden_slopes[i] += slope * weights_[row + i];
    }
    slopes[row + kGruHidden] = slope;
  }
  const auto cell_slopes = std::span(slopes).first<kGruWeights>();
  for (std::size_t i = jump.history.count; i-- > 0;) {
    hidden_slopes = gru_back(cell(), traces[i], hidden_slopes, cell_slopes);
  }
  return error * error / 2;
}

void SpeedupModel::learn(const SpeedupCase& jump, const GruHidden& before) {
  Weights slopes;
  slopes_of(jump, before, slopes);
  double norm = 0;
  for (const double slope : slopes) norm += slope * slope;
  norm = std::sqrt(norm);
  if (!std::isfinite(norm)) return;
  const double scale = norm > kSlopeMost ? kSlopeMost / norm : 1;
  ++updates_;
  const auto count = static_cast<double>(updates_);
  const double first_share = 1 - std::pow(kSpeedupBeta1, count);
  const double second_share = 1 - std::pow(kSpeedupBeta2, count);
  for (std::size_t i = 0; i < kWeights; ++i) {
    const double slope = slopes[i] * scale;
    first_[i] += (1 - kSpeedupBeta1) * (slope - first_[i]);
    second_[i] += (1 - kSpeedupBeta2) * (slope * slope - second_[i]);
    weights_[i] -= kSpeedupRate * (first_[i] / first_share) /
                   (std::sqrt(second_[i] / second_share) + kSpeedupEpsilon);
  }
}

void SpeedupModel::visit(StateText& state) {
  state.field("weights", std::span<double>(weights_));
  state.field("first", std::span<double>(first_));
  state.field("second", std::span<double>(second_));
  state.field("updates", updates_);
}

}  // namespace berth::train
