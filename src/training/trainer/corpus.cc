// SPDX-License-Identifier: Apache-2.0
#include "trainer/corpus.h"

#include <algorithm>
#include <utility>

#include "train/shuffle.h"
#include "trainer/text_file.h"

namespace berth::trainer {
namespace {

// Rows of what is held out that are kept for trials; validation begins behind them.
constexpr std::uint64_t kTrialWindows = 16;

std::uint64_t windows_in(std::size_t tokens, std::int64_t columns) {
  return tokens == 0 ? 0 : (tokens - 1) / static_cast<std::size_t>(columns);
}

}  // namespace

Result<Corpus> Corpus::open(const CorpusConfig& config) {
  CHECK(config.rows > 0 && config.columns > 0 && config.rows % config.ranks == 0);
  TRY(file, open_text(config.path));
  const auto tokens = train::TokenView::of_file(file.bytes());
  if (!tokens.ok()) return Error{Errc::kInvalid, config.path + ": " + tokens.error().message};
  // Of bytes it is known what they are.
  const std::int64_t most = tokens->is_bytes() ? 256 : tokens->vocabulary();
  if (most > config.vocabulary) {
    return Error{Errc::kInvalid, config.path + ": has the token " + std::to_string(most - 1) +
                                     ", and the model knows " + std::to_string(config.vocabulary)};
  }
  Corpus corpus(config, std::move(file), *tokens);
  if (corpus.windows_ < static_cast<std::uint64_t>(config.rows) ||
      corpus.held_out_windows_ <= kTrialWindows) {
    return Error{Errc::kInvalid, config.path + ": " + std::to_string(tokens->size()) +
                                     " tokens are too few for " + std::to_string(config.rows) +
                                     " rows of " + std::to_string(config.columns) + " with " +
                                     std::to_string(kTrialWindows + 1) + " held out"};
  }
  return corpus;
}

Corpus::Corpus(const CorpusConfig& config, os::Mapping file, const train::TokenView& tokens)
    : config_(config), file_(std::move(file)) {
  const std::size_t size = tokens.size();
  const auto held_out = static_cast<std::size_t>(static_cast<double>(size) * config.held_out);
  training_ = tokens.part(0, size - held_out);
  held_out_ = tokens.part(size - held_out, held_out);
  windows_ = windows_in(training_.size(), config.columns);
  held_out_windows_ = windows_in(held_out_.size(), config.columns);
}

Batch Corpus::next() {
  const std::int64_t rows = config_.rows / config_.ranks;
  Batch batch{.inputs = torch::empty({rows, config_.columns}, at::kLong),
              .targets = torch::empty({rows, config_.columns}, at::kLong)};
  const auto columns = static_cast<std::size_t>(config_.columns);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::uint64_t place = position_ + static_cast<std::uint64_t>(config_.rank * rows + row);
    const std::uint64_t window =
        train::shuffled(place % windows_, windows_, train::mixed(config_.seed) + place / windows_);
    fill(batch, row, training_.part(window * columns, columns + 1));
  }
  position_ += static_cast<std::uint64_t>(config_.rows);
  return batch;
}

Batch Corpus::trial(std::int64_t rows) const {
  return windows_at(held_out_, 0, std::min(rows, static_cast<std::int64_t>(kTrialWindows)));
}

Batch Corpus::validation(std::int64_t rows) const {
  const auto there = static_cast<std::int64_t>(held_out_windows_ - kTrialWindows);
  return windows_at(held_out_, kTrialWindows, std::min(rows, there));
}

Batch Corpus::windows_at(const train::TokenView& text, std::uint64_t first,
                         std::int64_t rows) const {
  Batch batch{.inputs = torch::empty({rows, config_.columns}, at::kLong),
              .targets = torch::empty({rows, config_.columns}, at::kLong)};
  const auto columns = static_cast<std::size_t>(config_.columns);
  for (std::int64_t row = 0; row < rows; ++row) {
    fill(batch, row, text.part((first + static_cast<std::uint64_t>(row)) * columns, columns + 1));
  }
  return batch;
}

void Corpus::fill(Batch& batch, std::int64_t row, const train::TokenView& window) const {
  std::int64_t* inputs = batch.inputs.data_ptr<std::int64_t>() + row * config_.columns;
  std::int64_t* targets = batch.targets.data_ptr<std::int64_t>() + row * config_.columns;
  for (std::int64_t i = 0; i < config_.columns; ++i) {
    const auto at = static_cast<std::size_t>(i);
    inputs[i] = window[at];
    targets[i] = window[at + 1];
  }
}

std::uint64_t Corpus::fingerprint() const {
  const std::string_view text = file_.bytes();
  std::uint64_t sum = train::mixed(text.size());
  // A look at some places is enough to tell two files apart that were mixed up.
  const std::size_t stride = std::max<std::size_t>(1, text.size() / 4096);
  for (std::size_t i = 0; i < text.size(); i += stride) {
    sum = train::mixed(sum ^ static_cast<unsigned char>(text[i]));
  }
  return sum;
}

}  // namespace berth::trainer
