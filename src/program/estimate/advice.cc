// SPDX-License-Identifier: Apache-2.0
#include "estimate/advice.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/check.h"
#include "base/quantity.h"

namespace berth::estimate {
namespace {

// A step that is a little larger than the others must not be the end. Small cards lose more of
// theirs to fragments.
constexpr std::uint64_t kMarginPercent = 5;
constexpr std::uint64_t kSmallMarginPercent = 10;
// Of more sequences at once a GPU gains little.
constexpr std::uint64_t kBatchWanted = 8;
// Of the room, what weights, gradients and optimizer may take where the activations are not known.
constexpr std::uint64_t kStatesPercent = 70;

struct Setup {
  Precision precision;
  Checkpointing checkpointing;
  bool small_optimizer;
};

// From what costs nothing to what costs most.
constexpr std::array<Setup, 6> kSetups = {{
    {Precision::kFull, Checkpointing::kNone, false},
    {Precision::kMixed, Checkpointing::kNone, false},
    {Precision::kMixed, Checkpointing::kLayers, false},
    {Precision::kHalf, Checkpointing::kLayers, false},
    {Precision::kMixed, Checkpointing::kLayers, true},
    {Precision::kHalf, Checkpointing::kLayers, true},
}};

// Half precision is faster too, so only where there is plenty of memory it is not where to begin.
std::span<const Setup> setups_of(Profile profile) {
  const std::span<const Setup> all(kSetups);
  return profile == Profile::kOf24Gb ? all : all.subspan(1);
}

struct Tried {
  Training training;  // Its batch is the largest that fits.
  Estimate of_one;    // Of a batch of one.
};

Tried try_setup(const ModelShape& shape, const Wish& wish, const Setup& setup, Bytes room) {
  Tried tried{.training = {.batch = 1,
                           .sequence = wish.sequence,
                           .precision = setup.precision,
                           .optimizer = wish.optimizer,
                           .attention = wish.attention,
                           .checkpointing = setup.checkpointing},
              .of_one = {}};
  const bool adam = wish.optimizer == Optimizer::kAdamW;
  if (setup.small_optimizer && adam) tried.training.optimizer = Optimizer::kAdamW8bit;
  tried.of_one = estimate_training(shape, tried.training);
  tried.training.batch = largest_batch(shape, tried.training, room);
  return tried;
}

std::uint64_t divided_up(std::uint64_t all, std::uint64_t parts) {
  return all / parts + (all % parts == 0 ? 0 : 1);
}

Bytes room_of(const Wish& wish, Profile profile) {
  const Bytes smallest = *std::ranges::min_element(wish.gpus);
  const std::uint64_t percent = profile == Profile::kOf8Gb ? kSmallMarginPercent : kMarginPercent;
  return saturating_sub(Bytes{smallest.value / 100 * (100 - percent)}, wish.context);
}

std::string count_text(std::uint64_t count) {
  const auto tenths = [&](std::uint64_t unit) {
    return std::to_string(count / unit) + "." + std::to_string(count % unit / (unit / 10));
  };
  if (count >= 1'000'000'000) return tenths(1'000'000'000) + " billion";
  if (count >= 1'000'000) return tenths(1'000'000) + " million";
  return std::to_string(count);
}

// Several GPUs hold a copy each: their sum is of no use to one of them.
std::string not_the_sum(const Wish& wish) {
  if (wish.gpus.size() == 1) return {};
  Bytes sum;
  for (const Bytes each : wish.gpus) sum += each;
  return "; each of " + std::to_string(wish.gpus.size()) +
         " GPUs holds a whole copy, so the smallest counts and not the " + to_text(sum) +
         " of all together";
}

Rule model_size(const Wish& wish, const Advice& advice, const Estimate& of_one) {
  const Bytes states = of_one.weights + of_one.gradients + of_one.optimizer;
  const std::string figures = count_text(of_one.parameters) + " parameters take " +
                              to_text(states) + " for weights, gradients and optimizer, " +
                              to_text(of_one.peak) + " with one sequence, and " +
                              to_text(advice.room) + " can be used" + not_the_sum(wish);
  return {"model_size", advice.fits ? "fits" : "does not fit", figures};
}

Rule precision(const Advice& advice) {
  switch (advice.training.precision) {
    case Precision::kFull:
      return {"precision", "fp32",
              "there is room; mixed precision would be faster, and save little memory"};
    case Precision::kMixed:
      return {"precision", "mixed",
              "faster on GPUs of the last years; it saves a part of the activations only, because "
              "weights and optimizer stay as they are and copies of two bytes come on top"};
    case Precision::kHalf:
      break;
  }
  return {"precision", "bf16",
          "weights, gradients and optimizer of two bytes: with any more it does not fit. Training "
          "gets less exact"};
}

Rule checkpointing(const ModelShape& shape, const Advice& advice) {
  Training other = advice.training;
  const bool on = other.checkpointing == Checkpointing::kLayers;
  other.checkpointing = on ? Checkpointing::kNone : Checkpointing::kLayers;
  const Bytes peak = estimate_training(shape, other).peak;
  if (on) {
    return {"gradient_checkpointing", "on",
            "without it the same batch would take " + to_text(peak) + " and not " +
                to_text(advice.peak) + "; a step takes about a fifth longer"};
  }
  return {"gradient_checkpointing", "off",
          "the batch fits without it; with it, " + to_text(peak) + " for a fifth more time"};
}

Rule batch(const ModelShape& shape, const Advice& advice) {
  Training more = advice.training;
  ++more.batch;
  const Bytes peak = estimate_training(shape, more).peak;
  std::string reason = "takes " + to_text(advice.peak) + " of the " + to_text(advice.room);
  if (peak > advice.room) reason += "; one more would take " + to_text(peak);
  return {"batch_per_gpu", std::to_string(advice.training.batch), reason};
}

Rule accumulation(const Wish& wish, const Advice& advice) {
  const std::string product =
      std::to_string(advice.training.batch) + " a GPU x " + std::to_string(wish.gpus.size()) +
      (wish.gpus.size() == 1 ? " GPU x " : " GPUs x ") + std::to_string(advice.accumulation) +
      " = " + std::to_string(advice.effective_batch);
  const bool same = advice.effective_batch == wish.effective_batch;
  return {"accumulation", std::to_string(advice.accumulation),
          product + (same ? ": the batch that was wished for, as training sees it"
                          : ": no smaller one than the " + std::to_string(wish.effective_batch) +
                                " wished for can be divided so")};
}

// The largest part of `share` that is no larger than `most`, so that no step is smaller than the
// others; where that would be a waste, the most.
std::uint64_t even_part(std::uint64_t share, std::uint64_t most) {
  for (std::uint64_t part = std::min(share, most); part * 2 > most; --part) {
    if (share % part == 0) return part;
  }
  return std::min(share, most);
}

}  // namespace

Profile profile_of(Bytes room) {
  // Cards are sold by round figures, and have a little less.
  if (room < gib(12)) return Profile::kOf8Gb;
  return room < gib(20) ? Profile::kOf16Gb : Profile::kOf24Gb;
}

Advice advise(const ModelShape& shape, const Wish& wish) {
  CHECK(!wish.gpus.empty() && wish.effective_batch > 0);
  Advice advice;
  advice.profile = profile_of(*std::ranges::min_element(wish.gpus));
  advice.room = room_of(wish, advice.profile);
  const std::uint64_t share = divided_up(wish.effective_batch, wish.gpus.size());
  const std::uint64_t wanted = std::min(share, kBatchWanted);
  Tried best{};
  best.training.batch = 0;
  for (const Setup& setup : setups_of(advice.profile)) {
    const Tried tried = try_setup(shape, wish, setup, advice.room);
    const bool first = best.of_one.parameters == 0;
    if (first || tried.training.batch > best.training.batch) best = tried;
    if (best.training.batch >= wanted) break;
  }
  advice.training = best.training;
  advice.fits = best.training.batch > 0;
  advice.peak = best.of_one.peak;
  advice.rules.push_back(model_size(wish, advice, best.of_one));
  if (!advice.fits) {
    for (Rule& rule : advise_size(wish)) advice.rules.push_back(std::move(rule));
    return advice;
  }
  advice.training.batch = even_part(share, best.training.batch);
  advice.accumulation = divided_up(share, advice.training.batch);
  advice.effective_batch = advice.training.batch * advice.accumulation * wish.gpus.size();
  advice.peak = estimate_training(shape, advice.training).peak;
  advice.rules.push_back(precision(advice));
  advice.rules.push_back(checkpointing(shape, advice));
  if (advice.training.optimizer != wish.optimizer) {
    advice.rules.push_back({"optimizer", std::string(to_text(advice.training.optimizer)),
                            "moments of one byte each: with four it does not fit"});
  }
  advice.rules.push_back(batch(shape, advice));
  advice.rules.push_back(accumulation(wish, advice));
  return advice;
}

std::vector<Rule> advise_size(const Wish& wish) {
  CHECK(!wish.gpus.empty());
  const Bytes smallest = *std::ranges::min_element(wish.gpus);
  const Bytes room = room_of(wish, profile_of(smallest));
  std::vector<Rule> rules;
  const auto add = [&](std::string_view name, const Training& training, std::string_view words) {
    const std::uint64_t of_one = estimate_states(1, training).peak.value;
    const std::uint64_t most = room.value / 100 * kStatesPercent / of_one;
    rules.push_back({name, "up to " + count_text(most) + " parameters",
                     std::string(words) + ": " + std::to_string(of_one) +
                         " bytes each for weights, gradients and optimizer, and the rest of " +
                         to_text(room) + " for activations" + not_the_sum(wish)});
  };
  add("largest_model", {}, "AdamW in fp32 or mixed precision");
  add("largest_model_adamw8bit", {.optimizer = Optimizer::kAdamW8bit},
      "AdamW with moments of eight bits");
  add("largest_model_bf16", {.precision = Precision::kHalf}, "AdamW, all in bf16");
  return rules;
}

}  // namespace berth::estimate
