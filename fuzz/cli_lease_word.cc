// SPDX-License-Identifier: Apache-2.0
// The words by which leases are named on the command line.
#include <string_view>
#include <variant>

#include "base/check.h"
#include "cli/lease_words.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace cli = berth::cli;
  const std::string_view word = berth::fuzz::text_of(data, size);
  const auto parsed = cli::parse_lease_word(word);
  if (!parsed.ok()) {
    CHECK(!parsed.error().message.empty());
  } else if (const auto* range = std::get_if<cli::LeaseRange>(&*parsed)) {
    CHECK(range->first <= range->last);
  } else if (const auto* reference = std::get_if<cli::LeaseReference>(&*parsed)) {
    CHECK(reference->text == word);
  }
  return 0;
}
