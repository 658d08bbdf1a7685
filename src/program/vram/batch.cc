// SPDX-License-Identifier: Apache-2.0
#include "vram/batch.h"

#include <algorithm>

#include "base/quantity.h"

namespace berth::vram {
namespace {

constexpr std::uint64_t kBatchMax = std::uint64_t{1} << 20U;

bool divides(std::uint64_t part, std::uint64_t whole) {
  return part > 0 && whole % part == 0;
}

}  // namespace

Result<Batch> Batch::make(const BatchSettings& settings, std::optional<std::uint64_t> remembered) {
  if (settings.batch == 0 || settings.batch > kBatchMax) {
    return Error{Errc::kInvalid, "a batch has 1 to " + std::to_string(kBatchMax) +
                                     " samples, not " + std::to_string(settings.batch)};
  }
  Batch batch(settings);
  std::uint64_t& most = batch.settings_.micro_max;
  if (most == 0 || most > settings.batch) most = settings.batch;
  batch.settings_.micro_min = std::max<std::uint64_t>(1, settings.micro_min);
  if (batch.settings_.micro_min > most) {
    return Error{Errc::kInvalid, "the least micro-batch, " +
                                     std::to_string(batch.settings_.micro_min) +
                                     ", is above the largest, " + std::to_string(most)};
  }
  while (!divides(most, settings.batch)) --most;
  const std::uint64_t first = remembered.value_or(most);
  const bool usable =
      divides(first, settings.batch) && first <= most && first >= batch.settings_.micro_min;
  batch.set_micro(usable ? first : most);
  return batch;
}

void Batch::set_micro(std::uint64_t micro) {
  plan_ = {.micro = micro, .accumulation = settings_.batch / micro};
  clean_ = 0;
}

// Half of it, or the next smaller divisor.
std::optional<std::uint64_t> Batch::smaller() const {
  for (std::uint64_t micro = plan_.micro / 2; micro >= settings_.micro_min && micro > 0; --micro) {
    if (divides(micro, settings_.batch)) return micro;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Batch::larger() const {
  for (std::uint64_t micro = plan_.micro + 1; micro <= settings_.micro_max; ++micro) {
    if (!divides(micro, settings_.batch)) continue;
    // As it came down, so it goes up: by one step of the same ladder.
    const bool is_step = micro >= 2 * plan_.micro || micro == settings_.micro_max;
    if (is_step) return micro;
  }
  return std::nullopt;
}

Result<BatchPlan> Batch::out_of_memory() {
  ++failures_;
  if (worked_ && *worked_ >= plan_.micro) worked_.reset();
  // One that fails again is left alone for twice as long.
  const bool again = failed_ == plan_.micro;
  settle_ = again ? settle_ * 2 : settings_.settle;
  failed_ = plan_.micro;
  failed_at_ = steps_;
  const std::optional<std::uint64_t> next = smaller();
  if (!next) {
    return Error{Errc::kExhausted,
                 "out of memory with a micro-batch of " + std::to_string(plan_.micro) + " (batch " +
                     std::to_string(settings_.batch) +
                     "), and a smaller one is not possible: give "
                     "the program more memory (berth resize), shorten the sequences, take gradient "
                     "checkpointing or half precision, or a smaller model"};
  }
  set_micro(*next);
  return plan_;
}

bool Batch::clean_step(std::optional<Bytes> room) {
  ++steps_;
  ++clean_;
  if (!worked_ || *worked_ < plan_.micro) worked_ = plan_.micro;
  if (settings_.grow_after == 0 || clean_ < settings_.grow_after) return false;
  const std::optional<std::uint64_t> next = larger();
  if (!next) return false;
  const bool failed_before = failed_ && *next >= *failed_;
  if (failed_before && steps_ - failed_at_ < settle_) return false;
  if (room && settings_.bytes_per_sample) {
    const std::uint64_t more = *next - plan_.micro;
    if (settings_.bytes_per_sample->value > room->value / more) return false;
  }
  set_micro(*next);
  return true;
}

std::uint64_t first_guess(const BatchGuess& guess) {
  const double a_sample = static_cast<double>(guess.model.value) * guess.factor;
  if (!(a_sample > 0)) return 1;
  const Bytes left = saturating_sub(guess.free, guess.overhead);
  const double count = static_cast<double>(left.value) / a_sample;
  if (count >= static_cast<double>(kBatchMax)) return kBatchMax;
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(count));
}

BatchSearch::BatchSearch(const Settings& settings) : settings_(settings) {
  settings_.max = std::clamp<std::uint64_t>(settings_.max, 1, kBatchMax);
  settings_.guess = std::clamp<std::uint64_t>(settings_.guess, 1, settings_.max);
}

std::optional<std::uint64_t> BatchSearch::next() const {
  if (trials_ >= kTrialsMax || fits_ == settings_.max) return std::nullopt;
  if (too_large_ == 1) return std::nullopt;
  if (trials_ == 0) return settings_.guess;
  if (too_large_ == 0) return std::min(settings_.max, fits_ * 2);
  if (too_large_ - fits_ <= 1) return std::nullopt;
  if (fits_ == 0) return too_large_ / 2;
  // What the margin takes away need not be found out.
  const auto gap = static_cast<double>(too_large_ - fits_);
  if (gap <= settings_.margin * static_cast<double>(fits_)) return std::nullopt;
  return fits_ + (too_large_ - fits_) / 2;
}

void BatchSearch::tried(std::uint64_t size, bool fits) {
  ++trials_;
  if (fits) {
    fits_ = std::max(fits_, size);
  } else if (too_large_ == 0 || size < too_large_) {
    too_large_ = size;
  }
}

std::optional<std::uint64_t> BatchSearch::best() const {
  if (fits_ == 0) return std::nullopt;
  const double kept = static_cast<double>(fits_) * (1 - settings_.margin);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(kept));
}

}  // namespace berth::vram
