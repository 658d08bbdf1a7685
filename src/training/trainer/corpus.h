// SPDX-License-Identifier: Apache-2.0
// A text as batches of tokens: a file of bytes or of tokens (train/token_file.h), mapped into
// memory, cut into windows, the windows shuffled anew for each pass. What comes next is decided by
// the seed and one number, so that a run that is resumed reads on where it was. The end of the file
// is held out from training. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/mapping.h"
#include "train/token_file.h"
#include "trainer/gpt2.h"

namespace berth::trainer {

struct CorpusConfig {
  std::string path;
  std::int64_t rows = 16;
  std::int64_t columns = 64;  // Tokens of a window.
  std::uint64_t seed = 1;
  double held_out = 0.1;          // Of the file, at its end.
  std::int64_t vocabulary = 256;  // Tokens are below this.
  std::uint32_t rank = 0;         // Of ranks that share each batch: it is given its rows alone.
  std::uint32_t ranks = 1;        // rows are a multiple of it.
};

class Corpus {
 public:
  /// kInvalid where the file is too short for one batch of each part, or holds a token that the
  /// model does not know.
  static Result<Corpus> open(const CorpusConfig& config);

  /// The next windows for training: of each batch the rows of this rank.
  Batch next();
  /// Windows taken so far, by all ranks; may be set, to read on from there.
  std::uint64_t position() const { return position_; }
  void seek(std::uint64_t position) { position_ = position; }
  std::uint64_t windows() const { return windows_; }

  /// Always the same windows of what is held out: the first for judging jumps, those behind them
  /// for validation. As many rows as there are, `rows` at most.
  Batch trial(std::int64_t rows) const;
  Batch validation(std::int64_t rows) const;

  /// Of what the file holds, to tell whether it is still the same.
  std::uint64_t fingerprint() const;

 private:
  Corpus(const CorpusConfig& config, os::Mapping file, const train::TokenView& tokens);
  Batch windows_at(const train::TokenView& text, std::uint64_t first, std::int64_t rows) const;
  void fill(Batch& batch, std::int64_t row, const train::TokenView& window) const;

  CorpusConfig config_;
  os::Mapping file_;
  train::TokenView training_;
  train::TokenView held_out_;
  std::uint64_t windows_ = 0;
  std::uint64_t held_out_windows_ = 0;
  std::uint64_t position_ = 0;
};

}  // namespace berth::trainer
