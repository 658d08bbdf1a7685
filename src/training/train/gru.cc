// SPDX-License-Identifier: Apache-2.0
#include "train/gru.h"

#include <algorithm>
#include <cmath>

namespace berth::train {
namespace {

enum GateOfGru : std::size_t { kUpdateGate, kResetGate, kCandidateGate };

std::size_t gru_row(GateOfGru gate, std::size_t i) {
  return (gate * kGruHidden + i) * kGruRow;
}

double gru_sum(std::span<const double> row, GruInput input, const GruHidden& hidden) {
  double sum = row[kGruRow - 1];
  for (std::size_t k = 0; k < kGruInputs; ++k) sum += row[k] * input[k];
  for (std::size_t k = 0; k < kGruHidden; ++k) sum += row[kGruInputs + k] * hidden[k];
  return sum;
}

double logistic(double x) {
  return 1 / (1 + std::exp(-x));
}

// Back through gru_sum(): what it does to the hidden state is added to `hidden_slopes`.
struct GruSumBack {
  GruWeights weights;
  std::span<double, kGruWeights> slopes;

  void operator()(std::size_t row, double slope, const GruTrace& trace, const GruHidden& hidden,
                  GruHidden& hidden_slopes) const {
    for (std::size_t k = 0; k < kGruInputs; ++k) slopes[row + k] += slope * trace.input[k];
    for (std::size_t k = 0; k < kGruHidden; ++k) {
      slopes[row + kGruInputs + k] += slope * hidden[k];
      hidden_slopes[k] += slope * weights[row + kGruInputs + k];
    }
    slopes[row + kGruRow - 1] += slope;
  }
};

}  // namespace

GruTrace gru_step(GruWeights weights, GruInput input, const GruHidden& before) {
  GruTrace trace{};
  std::ranges::copy(input, trace.input.begin());
  trace.before = before;
  const auto sum = [&](GateOfGru gate, std::size_t i, const GruHidden& hidden) {
    return gru_sum(weights.subspan(gru_row(gate, i), kGruRow), input, hidden);
  };
  GruHidden seen{};
  for (std::size_t i = 0; i < kGruHidden; ++i) {
    trace.update[i] = logistic(sum(kUpdateGate, i, before));
    trace.reset[i] = logistic(sum(kResetGate, i, before));
    seen[i] = trace.reset[i] * before[i];
  }
  for (std::size_t i = 0; i < kGruHidden; ++i) {
    trace.candidate[i] = std::tanh(sum(kCandidateGate, i, seen));
    trace.after[i] = before[i] + trace.update[i] * (trace.candidate[i] - before[i]);
  }
  return trace;
}

GruHidden gru_back(GruWeights weights, const GruTrace& trace, const GruHidden& after_slopes,
                   std::span<double, kGruWeights> slopes) {
  const GruSumBack back{.weights = weights, .slopes = slopes};
  GruHidden before_slopes{};
  GruHidden seen{};
  GruHidden seen_slopes{};
  for (std::size_t i = 0; i < kGruHidden; ++i) seen[i] = trace.reset[i] * trace.before[i];
  for (std::size_t i = 0; i < kGruHidden; ++i) {
    const double update = trace.update[i];
    const double candidate = trace.candidate[i];
    before_slopes[i] += after_slopes[i] * (1 - update);
    back(gru_row(kCandidateGate, i), after_slopes[i] * update * (1 - candidate * candidate), trace,
         seen, seen_slopes);
    back(gru_row(kUpdateGate, i),
         after_slopes[i] * (candidate - trace.before[i]) * update * (1 - update), trace,
         trace.before, before_slopes);
  }
  for (std::size_t i = 0; i < kGruHidden; ++i) {
    const double reset = trace.reset[i];
    before_slopes[i] += seen_slopes[i] * reset;
    back(gru_row(kResetGate, i), seen_slopes[i] * trace.before[i] * reset * (1 - reset), trace,
         trace.before, before_slopes);
  }
  return before_slopes;
}

}  // namespace berth::train
