// SPDX-License-Identifier: Apache-2.0
#include "cli/watch_keys.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>

namespace berth::cli {
namespace {

constexpr std::int64_t kMostMs = 86'400'000;

}  // namespace

bool WatchKeys::wait(Duration most) {
  const auto ms = static_cast<int>(std::min(most.ns / milliseconds(1).ns, kMostMs));
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (!take()) {
    ::poll(nullptr, 0, ms);
    return true;
  }
  if (::poll(&input, 1, ms) <= 0) return true;
  unsigned char key = 0;
  if (::read(STDIN_FILENO, &key, 1) != 1) {
    ended_ = true;
    give_back();
    return true;
  }
  if (key == 'q' || key == 'Q') return false;
  if (key == before_.c_cc[VINTR]) raise_as_before(SIGINT);
  if (key == before_.c_cc[VQUIT]) raise_as_before(SIGQUIT);
  if (key == before_.c_cc[VSUSP]) raise_as_before(SIGTSTP);
  return true;
}

// In the background nothing of the terminal is ours, until we are brought to the front.
bool WatchKeys::take() {
  if (ended_ || ::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) return false;
  if (taken_) return true;
  if (::tcgetattr(STDIN_FILENO, &before_) != 0) return false;
  termios keys = before_;
  keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
  keys.c_cc[VMIN] = 1;
  keys.c_cc[VTIME] = 0;
  taken_ = ::tcsetattr(STDIN_FILENO, TCSADRAIN, &keys) == 0;
  return taken_;
}

void WatchKeys::give_back() {
  if (!taken_) return;
  taken_ = false;
  if (::tcgetpgrp(STDIN_FILENO) == ::getpgrp()) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

// All of the job, as the terminal does it.
void WatchKeys::raise_as_before(int signal) {
  give_back();
  ::kill(0, signal);
}

}  // namespace berth::cli
