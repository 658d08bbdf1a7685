// SPDX-License-Identifier: Apache-2.0
#include "train/key_words.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/nearest.h"

namespace berth::train {

Result<KeyWords> split_key_words(const std::vector<std::string>& words,
                                 const std::vector<std::string_view>& flags) {
  KeyWords found;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const std::size_t equals = word.find('=');
    if (std::ranges::find(flags, word) != flags.end()) {
      found.flags.push_back(word);
    } else if (!word.starts_with("--")) {
      found.others.push_back(word);
    } else if (equals != std::string_view::npos) {
      found.keys.push_back(
          {.key = word.substr(2, equals - 2), .value = std::string(word.substr(equals + 1))});
    } else if (i + 1 < words.size()) {
      found.keys.push_back({.key = word.substr(2), .value = words[++i]});
    } else {
      return Error{Errc::kInvalid, words[i] + " wants a value"};
    }
  }
  return found;
}

Error unknown_key(std::string_view name, const std::vector<std::string_view>& names) {
  std::string message = "no key '" + std::string(name) + "'";
  if (const auto meant = nearest(name, names)) {
    message.append("; did you mean '").append(*meant).append("'?");
  }
  return {Errc::kInvalid, std::move(message)};
}

}  // namespace berth::train
