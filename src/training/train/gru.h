// SPDX-License-Identifier: Apache-2.0
// A gated recurrent cell (Cho et al. 2014, arXiv 1406.1078) and its derivative, so small that plain
// loops are enough. All of its weights are one row of numbers: who trains it needs to know nothing
// of gates. Without units or errors of its own; what goes in finite comes out finite. Pure;
// allocates nothing; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace berth::train {

inline constexpr std::size_t kGruInputs = 8;
inline constexpr std::size_t kGruHidden = 8;
/// Of each hidden number, for each of three gates: of the inputs, of the hidden state, and one
/// more.
inline constexpr std::size_t kGruRow = kGruInputs + kGruHidden + 1;
inline constexpr std::size_t kGruWeights = 3 * kGruHidden * kGruRow;

using GruInput = std::span<const double, kGruInputs>;
using GruHidden = std::array<double, kGruHidden>;
using GruWeights = std::span<const double, kGruWeights>;

/// One step, with all that its derivative needs.
struct GruTrace {
  std::array<double, kGruInputs> input;
  GruHidden before;
  GruHidden update;     // How much of the state is replaced, 0 to 1.
  GruHidden reset;      // How much of the state is seen by what replaces it, 0 to 1.
  GruHidden candidate;  // What replaces it, -1 to 1.
  GruHidden after;
};

GruTrace gru_step(GruWeights weights, GruInput input, const GruHidden& before);

/// The derivative of a loss by the state before a step, from that by the state after it. That by
/// the weights is added to `slopes`.
GruHidden gru_back(GruWeights weights, const GruTrace& trace, const GruHidden& after_slopes,
                   std::span<double, kGruWeights> slopes);

}  // namespace berth::train
