// SPDX-License-Identifier: Apache-2.0
// A line of the journal, as a damaged disk may give it back. What is read must be written and read
// again as the same.
#include "base/check.h"
#include "fuzz.h"
#include "model/record_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto record = berth::parse_record(berth::fuzz::text_of(data, size));
  if (!record.ok()) {
    CHECK(!record.error().message.empty());
    return 0;
  }
  const std::string line = berth::to_json(*record);
  // Text that is not UTF-8 is made so by writing it: only the second writing changes nothing.
  const auto again = berth::parse_record(line);
  if (line.size() <= berth::kRecordLineMax) {
    CHECK(again.ok());
    CHECK(berth::to_json(*again) == line);
  }
  return 0;
}
