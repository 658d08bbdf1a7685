// SPDX-License-Identifier: Apache-2.0
// berth-deliver: reads one line of JSON (wire/delivery.h) from standard input, sends that webhook
// or runs that alert command, and writes in one line what came of it. A process of its own, because
// the daemon neither opens users' addresses nor runs their commands; it knows nothing of rules and
// tries once.
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <variant>

#include "base/check.h"
#include "deliver/command.h"
#include "deliver/webhook.h"
#include "os/clock.h"
#include "wire/delivery.h"

namespace berth::deliver {
namespace {

/// Up to a line feed or the end; one that is too long is refused by who reads it.
std::string read_line() {
  std::string line;
  std::array<char, 4'096> piece{};
  while (line.size() <= wire::limits::kDeliveryMax) {
    const ssize_t count = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return line;
    line.append(piece.data(), static_cast<std::size_t>(count));
    if (const std::size_t end = line.find('\n'); end != std::string::npos)
      return line.substr(0, end);
  }
  return line;
}

wire::DeliveryOutcome deliver(const std::string& line) {
  const auto delivery = wire::decode_delivery(line);
  if (!delivery.ok()) {
    return {.kind = wire::DeliveryOutcome::Kind::kRefused, .reason = delivery.error().message};
  }
  if (const auto* command = std::get_if<wire::AlertCommand>(&delivery->to)) {
    return run_command(*delivery, *command);
  }
  return send_webhook(*delivery, std::get<wire::Webhook>(delivery->to), os::PosixClock().wall());
}

/// The system's daemon may signal and look into the processes of all users: what talks to the
/// world, or is a user's script, may not.
void give_up_rights() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> had{};
  CHECK(::syscall(SYS_capget, &header, had.data()) == 0);
  const bool none_left = std::ranges::all_of(
      had, [](const auto& sets) { return (sets.permitted | sets.inheritable) == 0; });
  if (none_left) return;  // A unit of its own may not even ask.
  (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  const std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> none{};
  CHECK(::syscall(SYS_capset, &header, none.data()) == 0);
}

int run() {
  give_up_rights();
  (void)::signal(SIGPIPE, SIG_IGN);  // A connection that is closed is an answer, not the end.
  const std::string line = wire::encode_outcome(deliver(read_line()));
  (void)!::write(STDOUT_FILENO, line.data(), line.size());
  // A name server that does not answer, asked by a thread of the library, must not keep us.
  ::_exit(0);
}

}  // namespace
}  // namespace berth::deliver

int main() {
  return berth::deliver::run();
}
