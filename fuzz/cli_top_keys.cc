// SPDX-License-Identifier: Apache-2.0
// Bytes of a terminal: the same keys and answers however they are split. The first byte says where.
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "cli/top/background.h"
#include "cli/top/keys.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace top = berth::cli::top;
  if (size == 0) return 0;
  const std::string_view bytes = berth::fuzz::text_of(data + 1, size - 1);
  const std::size_t split = bytes.empty() ? 0 : data[0] % (bytes.size() + 1);
  top::KeyReader whole;
  const std::vector<top::Key> keys = whole.take(bytes);
  top::KeyReader parts;
  std::vector<top::Key> again = parts.take(bytes.substr(0, split));
  for (top::Key& key : parts.take(bytes.substr(split))) again.push_back(std::move(key));
  CHECK(keys == again);
  const std::vector<std::string> answers = whole.take_answers();
  CHECK(answers == parts.take_answers());
  CHECK(answers.size() <= top::KeyReader::kAnswersKept);
  for (const std::string& answer : answers) {
    CHECK(answer.size() <= top::KeyReader::kAnswerMax);
    CHECK(!top::background_of(answer) || !top::is_fence(answer));
  }
  CHECK(whole.settle() == parts.settle());
  return 0;
}
