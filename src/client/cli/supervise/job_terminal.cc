// SPDX-License-Identifier: Apache-2.0
#include "cli/supervise/job_terminal.h"

#include <sys/stat.h>
#include <unistd.h>

namespace berth::cli {
namespace {

bool is_pipe(int fd) {
  struct stat found{};
  return ::fstat(fd, &found) == 0 && (S_ISFIFO(found.st_mode) || S_ISSOCK(found.st_mode));
}

}  // namespace

std::optional<JobTerminal> JobTerminal::find() {
  termios modes{};
  if (::tcgetattr(STDIN_FILENO, &modes) != 0) return std::nullopt;
  if (::getpgrp() != ::getpid() || is_pipe(STDOUT_FILENO)) return std::nullopt;
  if (::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) return std::nullopt;
  return JobTerminal(modes);
}

void JobTerminal::give_to(pid_t group) {
  if (its_modes_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &*its_modes_);
  ::tcsetpgrp(STDIN_FILENO, group);
}

void JobTerminal::take_from(pid_t group) {
  if (::tcgetpgrp(STDIN_FILENO) != group) return;
  termios modes{};
  if (::tcgetattr(STDIN_FILENO, &modes) == 0) its_modes_ = modes;
  ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &our_modes_);
}

void JobTerminal::take_from_as_it_is(pid_t group) {
  if (::tcgetpgrp(STDIN_FILENO) != group) return;
  ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
}

bool JobTerminal::we_are_foreground() const {
  return ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

}  // namespace berth::cli
