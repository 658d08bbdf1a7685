// SPDX-License-Identifier: Apache-2.0
// A model that was trained writes on from a text, token by token. One thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "train/generate_words.h"
#include "trainer/gpt2.h"
#include "trainer/tokenizer.h"

namespace berth::trainer {

struct Generated {
  std::string checkpoint;  // Which one wrote.
  std::uint64_t step = 0;  // Of its run.
  std::uint64_t tokens = 0;
};

struct GenerateControl {
  std::function<void(std::string_view)> write;  // The prompt, and each token as it comes.
  std::function<void(const std::string&)> say;  // What a person should know besides.
  const std::atomic<bool>* stop = nullptr;      // Looked at between tokens.
};

/// Writes the weights of the newest whole checkpoint of the run in the folder to a file
/// (weights.h), and returns which checkpoint that was.
Result<std::string> export_weights(const std::string& folder, const std::string& path);

/// `model` writes; it sees `columns` tokens at most. It ends where the tokenizer's text ends.
/// Returns how many tokens it wrote. kInvalid: what its weights give are no numbers.
Result<std::uint64_t> write_on(Gpt2& model, std::int64_t columns, const Tokenizer& tokenizer,
                               const train::GenerateWords& words, const GenerateControl& control);

/// Takes the newest whole checkpoint of the run in the folder. It sees as many tokens as a row of
/// its training had: what came before is out of its sight. kNotFound: there is no checkpoint.
/// kInvalid: what it learnt are other tokens than those of `words.ranks`, or of bytes.
Result<Generated> generate(const train::GenerateWords& words, const GenerateControl& control);

}  // namespace berth::trainer
