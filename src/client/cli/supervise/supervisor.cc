// SPDX-License-Identifier: Apache-2.0
#include "cli/supervise/supervisor.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/checked.h"
#include "cli/supervise/death.h"
#include "cli/supervise/stopper.h"
#include "os/clock.h"
#include "os/processes.h"

namespace berth::cli {
namespace {

// SIGTTOU is there to be blocked: then we may write to a terminal that the command has, and take it
// back.
constexpr std::array kSupervised = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                    SIGUSR2, SIGCONT, SIGTSTP, SIGTTOU, SIGCHLD};

bool is_ignored(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

bool is_pending(int signal) {
  sigset_t pending;
  return ::sigpending(&pending) == 0 && ::sigismember(&pending, signal) == 1;
}

int milliseconds_until(Instant at, Instant now) {
  if (at == Instant::never()) return -1;
  const std::int64_t left_ms = std::max<std::int64_t>((at - now).ns, 0) / milliseconds(1).ns + 1;
  return static_cast<int>(std::min<std::int64_t>(left_ms, 3'600'000));
}

}  // namespace

std::vector<int> supervised_signals() {
  std::vector<int> signals;
  for (const int signal : kSupervised) {
    // SIGCHLD must be known whatever we were started with.
    if (signal == SIGCHLD) ::signal(SIGCHLD, SIG_DFL);
    if (!is_ignored(signal)) signals.push_back(signal);
  }
  return signals;
}

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Supervisor::Supervisor(Process command, os::SignalDescriptor& signals, JobTerminal* terminal,
                       Observer& observer)
    : command_(command), signals_(signals), terminal_(terminal), observer_(observer) {}

ExitStatus Supervisor::run() {
  reap();  // It may have ended before we listened.
  while (!is_over()) wait_for_something();
  const ExitStatus ended = checked(ended_);
  if (terminal_ != nullptr && ended.signal != 0) terminal_->take_from(command_.pid);
  if (terminal_ != nullptr) terminal_->take_from_as_it_is(command_.pid);
  return ended;
}

bool Supervisor::is_over() const {
  return ended_ && !(observer_.stops_all() && is_anything_left());
}

void Supervisor::wait_for_something() {
  const os::PosixClock clock;
  std::array<pollfd, 2> wanted = {pollfd{signals_.descriptor(), POLLIN, 0},
                                  pollfd{observer_.descriptor(), POLLIN, 0}};
  ::poll(wanted.data(), wanted.size(), milliseconds_until(observer_.wake_at(), clock.now()));
  while (const std::optional<os::SignalSeen> seen = signals_.read()) handle(*seen);
  if (is_over()) return;
  if (wanted[1].revents != 0) {
    observer_.readable();
    look_whether_frozen();
  }
  if (const Instant now = clock.now(); now >= observer_.wake_at()) observer_.woke(now);
}

void Supervisor::handle(const os::SignalSeen& seen) {
  switch (seen.signal) {
    case SIGCHLD:
      reap();
      break;
    case SIGCONT:
      resume();
      break;
    case SIGTSTP:
      // From the keyboard it has reached the command too, which is in our group.
      if (terminal_ == nullptr || (frozen_ && !seen.from_process))
        stop_as_by_terminal();
      else if (seen.from_process)
        pass_on(SIGTSTP);
      break;
    case SIGHUP:
    case SIGINT:
    case SIGQUIT:
    case SIGTERM:
      was_told_to_end_ = true;
      if (observer_.stops_all()) {
        told_to_end_ = seen.signal;
        break;
      }
      [[fallthrough]];
    default:
      // What was typed has reached the command by itself, unless we have its terminal.
      if (seen.from_process || frozen_) pass_on(seen.signal);
      break;
  }
}

// Children that are not the command are orphans of it: they are taken off the kernel's hands.
void Supervisor::reap() {
  while (true) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED);
    if (pid <= 0) return;
    if (pid != command_.pid) {
      if (!WIFSTOPPED(status) && !WIFCONTINUED(status)) observer_.reaped(pid, status);
      continue;
    }
    if (WIFSTOPPED(status)) command_stopped();
    if (WIFCONTINUED(status)) command_continued();
    if (WIFEXITED(status)) ended_ = ExitStatus{.code = WEXITSTATUS(status), .signal = 0};
    if (WIFSIGNALED(status)) ended_ = ExitStatus{.code = 0, .signal = WTERMSIG(status)};
  }
}

// Without a terminal of its own it was stopped by what stops us as well, or by a user who means
// it alone.
void Supervisor::command_stopped() {
  if (terminal_ == nullptr) return;
  terminal_->take_from(command_.pid);
  frozen_ = observer_.is_frozen();
  if (frozen_) return;  // That is no job of the shell's; what is typed is for us.
  // Its memory was moved while the shell had stopped it, and it was stopped again: we go on by now.
  if (is_pending(SIGCONT)) return;
  stop_as_by_terminal();
  // The process that continued us has sent SIGCONT, which is handled in its turn. If nobody did,
  // nobody watches us, and the command shall not stop either.
  if (!is_pending(SIGCONT)) resume();
}

void Supervisor::command_continued() {
  if (!frozen_) return;
  frozen_ = false;
  if (terminal_->we_are_foreground()) terminal_->give_to(command_.pid);
}

// One whose job was stopped by the shell meanwhile is left stopped: then it is for us to go on.
void Supervisor::look_whether_frozen() {
  if (!frozen_ || observer_.is_frozen()) return;
  // That it was continued is known from when it was sent the signal, before SIGCHLD tells of it: it
  // is not to be sent a second one.
  reap();
  if (!frozen_) return;
  frozen_ = false;
  resume();
}

void Supervisor::resume() {
  if (frozen_ && observer_.is_frozen()) return;  // It has the terminal again when it goes on.
  frozen_ = false;
  if (terminal_ != nullptr && terminal_->we_are_foreground()) terminal_->give_to(command_.pid);
  pass_on(SIGCONT);
}

void Supervisor::pass_on(int signal) const {
  if (ended_) return;
  // Not reaped yet, so the pid is still the command's. The group is sent what stops and continues,
  // as a shell does with a job; all else is for the command to pass on.
  const bool to_group = terminal_ != nullptr && (signal == SIGCONT || signal == SIGTSTP);
  ::kill(to_group ? -command_.pid : command_.pid, signal);
}

std::vector<Process> Supervisor::leftovers() {
  // The usual case, without a look at all processes of the machine.
  if (!is_anything_left()) return {};
  return os::descendants(os::self());
}

}  // namespace berth::cli
