// SPDX-License-Identifier: Apache-2.0
#include "cli/supervise/stopper.h"

#include <sys/wait.h>

#include <cerrno>
#include <csignal>

#include "os/processes.h"

namespace berth::cli {
namespace {

constexpr Duration kKillEvery = milliseconds(100);

void send_to_all_below(int signal) {
  // One that has ended meanwhile needs none.
  for (const Process& process : os::descendants(os::self())) {
    static_cast<void>(os::send_signal(process, signal));
  }
}

}  // namespace

void Stopper::begin(Instant now) {
  if (begun()) return;
  kill_at_ = now + grace_;
  send_to_all_below(SIGTERM);
  send_to_all_below(SIGCONT);  // One that is stopped would not see it.
}

void Stopper::woke(Instant now) {
  if (now < kill_at_) return;
  kill_at_ = now + kKillEvery;
  send_to_all_below(SIGKILL);
}

// Whatever lost its parent below us is a child of ours.
bool is_anything_left() {
  siginfo_t child{};
  return ::waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

}  // namespace berth::cli
