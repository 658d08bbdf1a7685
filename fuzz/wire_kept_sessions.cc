// SPDX-License-Identifier: Apache-2.0
// The file of browser sessions, which a crash or another program may have left as it likes.
#include <string>
#include <string_view>

#include "base/check.h"
#include "fuzz.h"
#include "wire/browser_sessions.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace wire = berth::wire;
  const auto kept = wire::decode_kept_sessions(berth::fuzz::text_of(data, size));
  if (!kept.ok()) {
    CHECK(!kept.error().message.empty());
    return 0;
  }
  // What was read is written, and reads the same again.
  const std::string text = wire::encode_kept_sessions(*kept);
  const auto again = wire::decode_kept_sessions(text);
  CHECK(again.ok() && wire::encode_kept_sessions(*again) == text);
  return 0;
}
