// SPDX-License-Identifier: Apache-2.0
// Traps that make training several times slower and say nothing themselves. Pure: of a machine that
// was looked at, and of settings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/settings.h"

namespace berth::train {

struct Machine {
  unsigned cores = 1;
  std::string blas;           // The file that products of matrices come from; empty: unknown.
  bool has_fast_blas = true;  // OpenBLAS, MKL or BLIS are loaded.
  bool has_16_bit_units =
      true;  // AVX512_BF16 or AMX: products in bfloat16 are faster than in fp32.
};

/// A line for each, with its cure; none where all is well.
std::vector<std::string> traps(const Machine& machine, const Settings& settings);

}  // namespace berth::train
