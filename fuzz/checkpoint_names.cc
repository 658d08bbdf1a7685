// SPDX-License-Identifier: Apache-2.0
// Names of files in a folder of checkpoints, where others may have put theirs.
#include <string_view>

#include "base/check.h"
#include "checkpoint/names.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = berth::fuzz::text_of(data, size);
  const auto name = berth::checkpoint::parse_file_name(text);
  if (!name) return 0;
  CHECK(berth::checkpoint::to_text(*name) == text);
  CHECK(!berth::checkpoint::is_temporary(text));
  CHECK(text.find('/') == std::string_view::npos);
  return 0;
}
