// SPDX-License-Identifier: Apache-2.0
// The file that remembers which batch size worked, as a damaged disk or another program may leave
// it. Whatever it holds, it is a size of this fingerprint or nothing; and what is written is read.
#include <string>

#include "base/check.h"
#include "fuzz.h"
#include "library/batch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(berth::fuzz::text_of(data, size));
  const std::string fingerprint = "gpt2 T=1024";
  const auto micro = berth::library::parse_remembered(text, fingerprint);
  if (micro) {
    CHECK(text.ends_with(fingerprint + "\n"));
    const std::string again = berth::library::remembered_text(fingerprint, *micro);
    CHECK(berth::library::parse_remembered(again, fingerprint) == micro);
  }
  const std::string any = text.substr(0, text.find('\n'));
  const std::string written = berth::library::remembered_text(any, size);
  CHECK(berth::library::parse_remembered(written, any) == size);
  return 0;
}
