// SPDX-License-Identifier: Apache-2.0
// /proc/PID/status and /proc/PID/environ: whose a process is decides who may signal it, and both
// hold texts that the program chose. The first byte chooses a signal.
#include <string>
#include <string_view>

#include "base/check.h"
#include "fuzz.h"
#include "os/processes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = berth::fuzz::text_of(data + 1, size - 1);

  const auto ids = berth::os::parse_user_ids(text);
  if (ids.ok()) {
    // Three numbers of a line of their own: none was made up, and none came from another line.
    const std::string line = "Uid:\t" + std::to_string(ids->real.value) + "\t" +
                             std::to_string(ids->effective.value) + "\t" +
                             std::to_string(ids->saved.value);
    const auto again = berth::os::parse_user_ids(line);
    CHECK(again.ok());
    CHECK(again->real == ids->real && again->effective == ids->effective &&
          again->saved == ids->saved);
    CHECK(text.starts_with("Uid:\t") || text.find("\nUid:\t") != std::string_view::npos);
  } else {
    CHECK(!ids.error().message.empty());
  }

  const auto catches = berth::os::parse_catches(text, 1 + data[0] % 64);
  CHECK(catches.ok() || !catches.error().message.empty());

  if (const auto value = berth::os::parse_environment(text, "BERTH_LEASE_ID")) {
    CHECK(value->find('\0') == std::string::npos);
    CHECK(text.find("BERTH_LEASE_ID=" + *value) != std::string_view::npos);
  }
  return 0;
}
