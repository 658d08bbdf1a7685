// SPDX-License-Identifier: Apache-2.0
// A form that a browser sends, who has no session yet.
#include <string>
#include <string_view>

#include "base/check.h"
#include "fuzz.h"
#include "server/page_door.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view form = berth::fuzz::text_of(data, size);
  const std::string value = berth::server::form_field(form, "code");
  // What is decoded is never longer than how it was coded.
  CHECK(value.size() <= form.size());
  if (form.find("code") == std::string_view::npos) CHECK(value.empty());
  return 0;
}
