// SPDX-License-Identifier: Apache-2.0
// A library that a user preloads is read before it is loaded, and may be anything: what it is
// said to define, it names.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "fuzz.h"
#include "os/library_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(berth::fuzz::text_of(data, size));
  const bool defines = berth::os::defines_symbol(text, "dlsym");
  CHECK(!defines || text.find(std::string("dlsym\0", 6)) != std::string::npos);
  return 0;
}
