// SPDX-License-Identifier: Apache-2.0
// A text in the pieces that GPT-2 joins bytes within (its pattern is in openai/gpt-2, encoder.py):
// words with the blank before them, numbers, other signs, the endings of English contractions, and
// blanks. What letters and numbers are is Unicode's to say, and so PCRE2 reads the pattern.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"

namespace berth::trainer {

/// Each piece in turn; together they are the text. A byte that is no UTF-8 is a piece of its own.
/// kExhausted: there is no memory for it.
Status for_each_piece(std::string_view text, const std::function<void(std::string_view)>& take);

}  // namespace berth::trainer
