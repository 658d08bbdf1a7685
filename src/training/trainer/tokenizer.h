// SPDX-License-Identifier: Apache-2.0
// Text to tokens and back: bytes, or what GPT-2 reads, by a file of ranks. Any thread may read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "train/bpe.h"

namespace berth::trainer {

class Tokenizer {
 public:
  /// A token for each byte.
  Tokenizer() = default;
  /// By the ranks in a file as tiktoken has them (r50k_base.tiktoken: GPT-2's). Behind the last of
  /// them is one token more, for the end of a text. kNotFound, kCorrupt: naming the file.
  static Result<Tokenizer> open(const std::string& path);

  std::int64_t vocabulary() const;
  std::optional<train::Token> end_of_text() const;
  /// All of the text, piece by piece. What stands for the end of a text is not read out of one.
  Status encode(std::string_view text,
                const std::function<void(std::span<const train::Token>)>& take) const;
  /// Empty for the end of a text, and for a token that there is not.
  std::string decode(train::Token token) const;

 private:
  std::optional<train::Ranks> ranks_;
};

/// A text file as a file of tokens (train/token_file.h): an end of text, and then the text. Returns
/// how many. kInvalid: there are more tokens than the file could name. What was there before stays
/// until all is written.
Result<std::uint64_t> tokenize(const Tokenizer& tokenizer, const std::string& text_path,
                               const std::string& token_path);

}  // namespace berth::trainer
