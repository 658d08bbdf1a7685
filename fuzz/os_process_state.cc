// SPDX-License-Identifier: Apache-2.0
// /proc/PID/stat: the name in it is the program's choice, and may look like the fields around it.
#include <string_view>

#include "base/check.h"
#include "fuzz.h"
#include "os/processes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto state = berth::os::parse_process_state(berth::fuzz::text_of(data, size));
  if (!state.ok()) {
    CHECK(!state.error().message.empty());
    return 0;
  }
  CHECK(state->process.pid > 0);
  CHECK(state->name.size() <= size);
  return 0;
}
