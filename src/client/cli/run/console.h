// SPDX-License-Identifier: Apache-2.0
// Output of `run` on stderr: lines, and one line that is written over while a request waits. Where
// stderr is no terminal, each change of that line is a line of its own. Not shared between threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/render/context.h"
#include "cli/terminal.h"

namespace berth::cli {

class Console {
 public:
  enum class Volume : std::uint8_t { kNormal, kQuiet };

  Console(const Terminal& terminal, Volume volume);

  /// "berth: sentence". Not if quiet.
  void say(std::string_view sentence);
  /// The same, also if quiet: an error, or who is not held to a budget.
  void complain(std::string_view sentence);
  /// Takes the place of the line before it.
  void update(std::string_view sentence);
  /// The same, of several that say less and less the first that the terminal has room for.
  void update(const std::vector<std::string>& sentences);
  /// The updating line, if there is one, is taken away.
  void clear();
  /// Attracts attention to the terminal: a notification where it is known to have them, else the
  /// bell. Nothing where stderr is no terminal.
  void notify(std::string_view sentence);

  bool is_for_terminal() const { return is_terminal_; }
  bool quiet() const { return volume_ == Volume::kQuiet; }
  /// For texts that are written now.
  RenderContext context() const;

 private:
  void write(std::string_view text) const;

  Volume volume_;
  bool is_terminal_;
  bool updates_;  // The terminal can write over a line.
  Charset charset_;
  std::string shown_;  // The updating line as it was last given.
};

/// What makes a terminal of that kind show a notification, or ring. `sentence` is harmless text.
struct TerminalKind {
  std::string_view term;     // TERM
  std::string_view program;  // TERM_PROGRAM
  bool vte = false;          // VTE_VERSION is set.
};
std::string notification(std::string_view sentence, const TerminalKind& kind);

}  // namespace berth::cli
