// SPDX-License-Identifier: Apache-2.0
#include "train/traps.h"

namespace berth::train {

std::vector<std::string> traps(const Machine& machine, const Settings& settings) {
  std::vector<std::string> found;
  if (!machine.has_fast_blas) {
    found.push_back("products of matrices come from " +
                    (machine.blas.empty() ? "a BLAS that is none of the fast ones" : machine.blas) +
                    ", and may be some fifty times slower than they could be: install "
                    "libopenblas0-openmp");
  }
  if (settings.threads > machine.cores) {
    found.push_back("run.threads: " + std::to_string(settings.threads) + " threads on " +
                    std::to_string(machine.cores) +
                    " cores wait for one another: 0 takes one for each core");
  }
  if (settings.precision == Precision::kBf16 && !machine.has_16_bit_units) {
    found.emplace_back(
        "data.precision: this CPU has neither avx512_bf16 nor AMX, and computes slower in bf16 "
        "than "
        "in fp32");
  }
  return found;
}

}  // namespace berth::train
