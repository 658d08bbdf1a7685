// SPDX-License-Identifier: Apache-2.0
// The guard reads /proc/PID/stat by itself. Of whatever name a process has given itself it must say
// what the daemon says: else it takes one that lives for dead, and what it uses for free. It also
// looks for its locks in /proc/self/fdinfo.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "fuzz.h"
#include "guard/lock_line.h"
#include "guard/stat_line.h"
#include "os/processes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(berth::fuzz::text_of(data, size));
  constexpr std::uint64_t kLeast = 10;
  const std::uint64_t place = berth::guard::locked_place(text.c_str(), kLeast);
  CHECK(place == 0 || place >= kLeast);
  berth::guard::ProcessFacts facts;
  const bool parsed = berth::guard::parse_stat(text.c_str(), facts);
  const auto state = berth::os::parse_process_state(text);
  if (!state.ok()) return 0;
  // The kernel writes one blank between fields, a line feed behind the last, and no NUL.
  const std::size_t name_end = text.rfind(')') + 1;
  const std::size_t end = text.find('\n', name_end);
  const bool as_the_kernel = text.find("  ") == text.npos && text.find('\0') == text.npos &&
                             text.at(name_end) == ' ' &&
                             (end == text.npos || end + 1 == text.size());
  if (!as_the_kernel) return 0;
  CHECK(parsed);
  CHECK(facts.pid == static_cast<std::uint64_t>(state->process.pid));
  CHECK(facts.start_ticks == state->process.start_ticks);
  const bool is_zombie = facts.state == 'Z' || facts.state == 'X';
  CHECK(state->ended == (is_zombie && facts.threads <= 1) || facts.threads > 0x7fffffff);
  return 0;
}
