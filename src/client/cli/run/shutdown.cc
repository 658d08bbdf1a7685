// SPDX-License-Identifier: Apache-2.0
#include "cli/run/shutdown.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <string>

#include "base/units.h"
#include "os/files.h"
#include "os/program_output.h"
#include "os/unique_fd.h"

namespace berth::cli {
namespace {

constexpr Duration kToldWithin = seconds(2);
constexpr std::size_t kWordMax = 64;                               // Of its answer, in bytes.
constexpr const char* kSystemBus = "/run/dbus/system_bus_socket";  // By which systemctl asks.

}  // namespace

bool is_machine_stopping() {
  const os::UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto asked = os::output_of({.words = {"systemctl", "is-system-running"},
                                    .standard = {nothing.get(), STDOUT_FILENO, nothing.get()}},
                                   {.bytes_max = kWordMax, .within = kToldWithin});
  if (!asked.ok()) return false;
  const std::string& said = asked->text;
  // The bus is among the first that are ended.
  const bool no_answer = said.empty() || said == "unknown\n";
  return said == "stopping\n" || (no_answer && os::exists(kSystemBus));
}

}  // namespace berth::cli
