// SPDX-License-Identifier: Apache-2.0
// A line of the journal, as a damaged disk may give it back. What is read must be written and read
// again as the same.
#include "base/check.h"
#include "fuzz.h"
#include "model/record_json.h"

namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto record = berth::parse_record(berth::fuzz::text_of(data, size));
  if (!record.ok()) {
    CHECK(!record.error().message.empty());
    return 0;
  }
  const std::string line = berth::to_json(*record);
  if (line.size() > berth::kRecordLineMax) return 0;
  const auto again = berth::parse_record(line);
  CHECK(again.ok());
  // Text that is not UTF-8 is made so by writing it, and labels may then be ordered otherwise, or
  // be one and the same: only the second writing changes nothing.
  const bool was_utf8 = line.find(kReplacement) == std::string::npos;
  const std::string settled = was_utf8 ? line : berth::to_json(*again);
  const auto last = berth::parse_record(settled);
  CHECK(last.ok());
  CHECK(berth::to_json(*last) == settled);
  return 0;
}
