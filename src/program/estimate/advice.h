// SPDX-License-Identifier: Apache-2.0
// Advice on training a model in the memory there is: batch, accumulation, precision and what is
// computed again, each with its reason and figures. The effective batch that was wished for is
// kept. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "base/words.h"
#include "estimate/memory.h"
#include "estimate/model_shape.h"

namespace berth::estimate {

/// What is tried first, and how much is left alone, follows from the size of the smallest GPU.
enum class Profile : std::uint8_t { kOf8Gb, kOf16Gb, kOf24Gb };
constexpr auto words_of(Profile) {
  using enum Profile;
  return make_words<Profile>({{kOf8Gb, "8 GB"}, {kOf16Gb, "16 GB"}, {kOf24Gb, "24 GB and more"}});
}
Profile profile_of(Bytes room);

struct Wish {
  std::vector<Bytes> gpus;  // What each of them has for this program; at least one.
  std::uint64_t effective_batch = 32;
  std::uint64_t sequence = 1'024;
  Optimizer optimizer = Optimizer::kAdamW;
  Attention attention = Attention::kEager;
  Bytes context = mib(512);  // What the driver takes for each program.
};

struct Rule {
  std::string_view name;  // For programs: "model_size", "precision", "batch_per_gpu" and so on.
  std::string setting;
  std::string reason;
};

struct Advice {
  bool fits = false;
  Profile profile = Profile::kOf8Gb;
  Bytes room;         // Of the smallest GPU, less context and margin.
  Training training;  // Its batch is that of one GPU at once; 0 where nothing fits.
  std::uint64_t accumulation = 0;
  std::uint64_t effective_batch = 0;  // What comes of it: at least what was wished for.
  Bytes peak;
  std::vector<Rule> rules;
};
Advice advise(const ModelShape& shape, const Wish& wish);

/// Where no model is named: how large one may be.
std::vector<Rule> advise_size(const Wish& wish);

}  // namespace berth::estimate
