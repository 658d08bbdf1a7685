// SPDX-License-Identifier: Apache-2.0
#include "cli/run/shutdown.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include "base/units.h"
#include "os/child.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/unique_fd.h"

namespace berth::cli {
namespace {

constexpr Duration kToldWithin = seconds(2);
constexpr const char* kSystemBus = "/run/dbus/system_bus_socket";  // By which systemctl asks.

// Until it ends, or the time is over.
std::string read_all(const os::UniqueFd& from, Instant until) {
  std::string text;
  std::array<char, 64> part{};
  while (true) {
    const std::int64_t left_ms = (until - os::PosixClock().now()).ns / milliseconds(1).ns;
    pollfd wanted{from.get(), POLLIN, 0};
    if (left_ms <= 0 || ::poll(&wanted, 1, static_cast<int>(left_ms)) == 0) return text;
    const ssize_t count = ::read(from.get(), part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

bool is_machine_stopping() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  const os::UniqueFd reader(ends[0]);
  const Result<pid_t> asked = [&] {
    const os::UniqueFd writer(ends[1]);
    const os::UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    return os::spawn({.words = {"systemctl", "is-system-running"},
                      .standard = {nothing.get(), writer.get(), nothing.get()}});
  }();
  if (!asked.ok()) return false;
  const std::string said = read_all(reader, os::PosixClock().now() + kToldWithin);
  ::kill(*asked, SIGKILL);  // It has said all that it had to say.
  while (::waitpid(*asked, nullptr, 0) < 0 && errno == EINTR) {
  }
  // The bus is among the first that are ended.
  const bool no_answer = said.empty() || said == "unknown\n";
  return said == "stopping\n" || (no_answer && os::exists(kSystemBus));
}

}  // namespace berth::cli
