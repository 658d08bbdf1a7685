// SPDX-License-Identifier: Apache-2.0
#include "base/shell.h"

#include <algorithm>

#include "base/letters.h"

namespace berth {
namespace {

bool needs_no_quotes(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) {
    return is_letter_or_digit(c) ||
           std::string_view("-_./=:,+@%").find(c) != std::string_view::npos;
  });
}

}  // namespace

std::string quoted_for_shell(std::string_view word) {
  if (needs_no_quotes(word)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace berth
