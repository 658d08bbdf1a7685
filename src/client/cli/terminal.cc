// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <fcntl.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/exit_status.h"
#include "cli/render/text.h"

namespace berth::cli {
namespace {

bool colour_wanted(ColourChoice choice, bool is_terminal) {
  if (choice != ColourChoice::kAuto) return choice == ColourChoice::kAlways;
  return is_terminal && environment_text("TERM") != "dumb";
}

// The first that is set decides, as setlocale(3) has it. The C library is not asked, because
// setlocale would also change how numbers are written.
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value(environment_text(name));
    if (value.empty()) continue;
    return strcasestr(value.c_str(), "utf-8") != nullptr ||
           strcasestr(value.c_str(), "utf8") != nullptr;
  }
  return false;
}

// COLUMNS stands above what the terminal says of itself.
void measure(Terminal& terminal) {
  constexpr std::size_t kNarrowest = 20;
  winsize size{};
  if (terminal.output_is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
    if (size.ws_col != 0) terminal.width = size.ws_col;
    if (size.ws_row != 0) terminal.height = size.ws_row;
  }
  std::size_t columns = 0;
  const std::string_view stated = environment_text("COLUMNS");
  const auto read = std::from_chars(stated.data(), stated.data() + stated.size(), columns);
  if (read.ec == std::errc{} && columns != 0) terminal.width = columns;
  if (terminal.width) terminal.width = std::max(*terminal.width, kNarrowest);
}

// Why stdout did not take something, the first time: the C library forgets it.
int output_error = 0;

void keep_error() {
  if (output_error == 0) output_error = errno == 0 ? EIO : errno;
}

}  // namespace

std::string_view environment_text(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

Terminal find_terminal(ColourChoice choice) {
  Terminal terminal;
  terminal.output_is_terminal = isatty(STDOUT_FILENO) == 1;
  terminal.errors_are_terminal = isatty(STDERR_FILENO) == 1;
  terminal.colour = colour_wanted(choice, terminal.output_is_terminal);
  terminal.errors_colour = colour_wanted(choice, terminal.errors_are_terminal);
  terminal.unicode = locale_is_utf8();
  measure(terminal);
  return terminal;
}

void print(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) keep_error();
}

bool flush() {
  errno = 0;
  if (std::fflush(stdout) != 0) keep_error();
  return output_error == 0;
}

void complain(std::string_view text) {
  // What was printed before stands before it, where both go to one place.
  static_cast<void>(std::fflush(stdout));
  const std::string lines = escape_control_lines(text, {.unicode = locale_is_utf8()});
  static_cast<void>(std::fwrite(lines.data(), 1, lines.size(), stderr));
}

int flush_output(int status) {
  if (flush() || output_error == EPIPE) return status;
  complain("berth: cannot write to standard output: " + std::string(std::strerror(output_error)) +
           "\n");
  return to_status(ExitCode::kIoError);
}

}  // namespace berth::cli
