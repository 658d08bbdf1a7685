// SPDX-License-Identifier: Apache-2.0
// The command line of `berth-train generate`. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "train/sampling.h"

namespace berth::train {

struct GenerateWords {
  std::string folder;  // Of the run.
  std::string ranks;   // A file of them; empty: it reads bytes.
  std::string prompt = "\n";
  std::uint32_t tokens = 500;  // To be written after it.
  std::uint64_t seed = 1;
  std::uint32_t threads = 0;  // 0: as many as there are cores.
  SamplingConfig sampling;
  bool help = false;
};

/// FOLDER [--KEY VALUE | --KEY=VALUE]... The error names the word and what would be right.
Result<GenerateWords> parse_generate(const std::vector<std::string>& words);
/// Each key with its default and what it is.
std::string generate_help();

}  // namespace berth::train
