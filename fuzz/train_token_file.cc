// SPDX-License-Identifier: Apache-2.0
// A file that is to be learnt: tokens as llm.c's scripts write them, or bytes. What is taken can be
// read to its end.
#include <string_view>

#include "base/check.h"
#include "fuzz.h"
#include "train/token_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto tokens = berth::train::TokenView::of_file(berth::fuzz::text_of(data, size));
  if (!tokens.ok()) {
    CHECK(!tokens.error().message.empty());
    return 0;
  }
  const std::int64_t vocabulary = tokens->vocabulary();
  for (std::size_t i = 0; i < tokens->size(); ++i) {
    CHECK((*tokens)[i] >= 0 && (*tokens)[i] < vocabulary);
  }
  const std::size_t half = tokens->size() / 2;
  const auto rest = tokens->part(half, tokens->size() - half);
  CHECK(rest.size() == tokens->size() - half && (rest.size() == 0 || rest[0] == (*tokens)[half]));
  return 0;
}
