// SPDX-License-Identifier: Apache-2.0
// The words of a command line that are keys with values, and keys that nobody knows. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::train {

struct KeyAndValue {
  std::string_view key;
  std::string value;
};

struct KeyWords {
  std::vector<KeyAndValue> keys;
  std::vector<std::string_view> others;  // Those that begin with no "--".
  std::vector<std::string_view> flags;   // As they stand there.
};

/// [--KEY VALUE | --KEY=VALUE | FLAG | OTHER]... It points into `words`. kInvalid: the last key has
/// no value.
Result<KeyWords> split_key_words(const std::vector<std::string>& words,
                                 const std::vector<std::string_view>& flags);

/// kInvalid, with the one of `names` that may have been meant.
Error unknown_key(std::string_view name, const std::vector<std::string_view>& names);

}  // namespace berth::train
