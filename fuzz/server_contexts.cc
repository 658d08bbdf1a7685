// SPDX-License-Identifier: Apache-2.0
// The file of context costs, as a damaged disk may give it back. What is read of it must be written
// and read again as the same.
#include <string>

#include "base/check.h"
#include "fuzz.h"
#include "server/context_costs.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  berth::server::ContextCosts read;
  const auto recalled = read.recall(berth::fuzz::text_of(data, size), {1000});
  CHECK(recalled.ok() || !recalled.error().message.empty());
  const std::string text = read.to_text();
  CHECK(text.size() <= berth::server::ContextCosts::kTextMax);
  berth::server::ContextCosts again;
  CHECK(again.recall(text, {1001}).ok());
  CHECK(again.to_text() == text);
  return 0;
}
