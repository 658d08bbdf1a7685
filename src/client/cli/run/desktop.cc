// SPDX-License-Identifier: Apache-2.0
#include "cli/run/desktop.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "os/programs.h"
#include "wire/daemon.h"

namespace berth::cli {
namespace {

bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

bool is_own_daemon(client::Client& client) {
  const auto daemon =
      client::told(client.connection().ask({.route = wire::Route::kDaemon}), wire::decode_daemon);
  return daemon && daemon->mode == wire::DaemonView::Mode::kUser;
}

// Between fork and exec: system calls only.
[[noreturn]] void become(const char* program) {
  const int nothing = ::open("/dev/null", O_RDWR);
  if (nothing < 0) ::_exit(1);
  for (int standard = 0; standard < 3; ++standard) ::dup2(nothing, standard);
  ::close_range(3, ~0U, 0);
  if (::chdir("/") == 0) ::execl(program, "berth-notify", "--with-daemon", nullptr);
  ::_exit(1);
}

}  // namespace

bool wants_desktop(const config::Config& config) {
  const auto wants = [](const auto& rule) { return rule.second.enabled && rule.second.desktop; };
  return config.client.desktop && std::ranges::any_of(config.alerts, wants) &&
         is_set("DBUS_SESSION_BUS_ADDRESS") && !is_set("BERTH_LEASE_ID");
}

// Forks twice: it is nobody's child, and belongs to no terminal.
void show_on_desktop(client::Client& client) {
  if (!is_own_daemon(client)) return;
  const auto program = os::sibling_program("berth-notify");
  if (!program.ok()) return;
  const pid_t first = ::fork();
  if (first < 0) return;
  if (first == 0) {
    ::setsid();
    if (::fork() == 0) become(program->c_str());
    ::_exit(0);
  }
  while (::waitpid(first, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace berth::cli
