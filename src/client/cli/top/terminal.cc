// SPDX-License-Identifier: Apache-2.0
#include "cli/top/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>

namespace berth::cli::top {
namespace {

// The other screen, no cursor, presses and the wheel of the mouse as sequences (xterm's ctlseqs:
// 1049, 25, 1000, 1006).
constexpr std::string_view kTaken = "\x1b[?1049h\x1b[?25l\x1b[?1000h\x1b[?1006h";
constexpr std::string_view kGiven = "\x1b[0m\x1b[?1006l\x1b[?1000l\x1b[?25h\x1b[?1049l";

}  // namespace

bool Screen::take() {
  if (taken_) return true;
  if (::isatty(STDOUT_FILENO) == 0 || ::tcgetattr(STDIN_FILENO, &before_) != 0) return false;
  termios keys = before_;
  // Signals stay with the terminal: Ctrl-C and Ctrl-Z do what they always do.
  keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  keys.c_cc[VMIN] = 1;
  keys.c_cc[VTIME] = 0;
  if (::tcsetattr(STDIN_FILENO, TCSADRAIN, &keys) != 0) return false;
  taken_ = true;
  write(kTaken);
  return true;
}

void Screen::give_back() {
  if (!taken_) return;
  taken_ = false;
  write(kGiven);
  // An answer that is still to come is not for the shell.
  ::tcsetattr(STDIN_FILENO, asked_ ? TCSAFLUSH : TCSADRAIN, &before_);
}

void Screen::ask(std::string_view question) {
  asked_ = true;
  write(question);
}

std::optional<std::pair<std::size_t, std::size_t>> Screen::size() {
  winsize found{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0 || found.ws_col == 0 || found.ws_row == 0) {
    return std::nullopt;
  }
  return std::pair<std::size_t, std::size_t>(found.ws_col, found.ws_row);
}

void Screen::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) return;
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace berth::cli::top
