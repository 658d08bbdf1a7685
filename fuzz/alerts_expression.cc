// SPDX-License-Identifier: Apache-2.0
// The expression of a rule, as a person writes it: it is read and written back the same, or refused
// with a column.
#include <string>
#include <string_view>

#include "alerts/expression.h"
#include "base/check.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace alerts = berth::alerts;
  const std::string_view text = berth::fuzz::text_of(data, size);
  const auto first = alerts::parse_expression(text);
  if (!first.ok()) {
    CHECK(first.error().message.starts_with("column "));
    return 0;
  }
  const auto again = alerts::parse_expression(to_text(*first));
  CHECK(again.ok());
  CHECK(*again == *first);
  return 0;
}
