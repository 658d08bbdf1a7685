// SPDX-License-Identifier: Apache-2.0
#include "cli/run/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "cli/render/cutting.h"
#include "cli/terminal.h"
#include "os/clock.h"
#include "os/users.h"

namespace berth::cli {
namespace {

constexpr std::string_view kPrefix = "berth: ";
constexpr std::string_view kOverwrite = "\r\x1b[K";

// Asked each time, because windows change.
std::optional<std::size_t> width_of_errors() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

}  // namespace

Console::Console(const Terminal& terminal, Volume volume)
    : volume_(volume),
      is_terminal_(terminal.errors_are_terminal),
      updates_(terminal.errors_are_terminal && environment_text("TERM") != "dumb"),
      charset_{.unicode = terminal.unicode, .colour = terminal.errors_colour} {}

void Console::say(std::string_view sentence) {
  if (!quiet()) complain(sentence);
}

void Console::complain(std::string_view sentence) {
  clear();
  write(std::string(kPrefix) + escape_control_lines(sentence, charset_) + "\n");
}

void Console::update(std::string_view sentence) {
  if (quiet() || sentence == shown_) return;
  shown_ = sentence;
  const std::string line = std::string(kPrefix) + shown_;
  if (!updates_) {
    write(line + "\n");
    return;
  }
  // One column is left free: some terminals begin a new line when the last one is written.
  const std::optional<std::size_t> width = width_of_errors();
  write(std::string(kOverwrite) + (width ? without_end(line, *width - 1, charset_) : line));
}

void Console::update(const std::vector<std::string>& sentences) {
  const std::optional<std::size_t> width = updates_ ? width_of_errors() : std::nullopt;
  const auto has_room = [&](const std::string& sentence) {
    return !width || kPrefix.size() + columns_of(sentence) < *width;
  };
  const auto fitting = std::ranges::find_if(sentences, has_room);
  if (!sentences.empty()) update(fitting == sentences.end() ? sentences.back() : *fitting);
}

void Console::clear() {
  if (updates_ && !shown_.empty()) write(kOverwrite);
  shown_.clear();
}

void Console::notify(std::string_view sentence) {
  if (!is_terminal_) return;
  write(notification(sentence, {.term = environment_text("TERM"),
                                .program = environment_text("TERM_PROGRAM"),
                                .vte = !environment_text("VTE_VERSION").empty()}));
}

RenderContext Console::context() const {
  return {.charset = charset_,
          .width = std::nullopt,
          .now = os::PosixClock().wall(),
          .me = os::own_user(),
          .user_name = os::user_name};
}

void Console::write(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // Nobody listens; there is nowhere to say so.
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string notification(std::string_view sentence, const TerminalKind& kind) {
  const std::string text(sentence);
  if (kind.vte || kind.term.starts_with("rxvt") || kind.term.starts_with("foot")) {
    return "\x1b]777;notify;berth;" + text + "\x1b\\";
  }
  if (kind.program == "iTerm.app" || kind.program == "WezTerm" || kind.program == "ghostty" ||
      kind.term == "xterm-kitty") {
    return "\x1b]9;berth: " + text + "\x1b\\";
  }
  return "\a";
}

}  // namespace berth::cli
