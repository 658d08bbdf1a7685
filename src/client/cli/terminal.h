// SPDX-License-Identifier: Apache-2.0
// Properties of the output: where it goes and what may be written there: colour, letters beyond
// ASCII, width. Found out once at start; everything that renders is handed it, and looks at no
// environment itself.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"

namespace berth::cli {

using ColourChoice = config::Color;

struct Terminal {
  bool output_is_terminal = false;
  bool errors_are_terminal = false;
  bool colour = false;         // On stdout.
  bool errors_colour = false;  // On stderr.
  bool unicode = false;
  std::optional<std::size_t> width;   // Absent: unknown, nothing is shortened.
  std::optional<std::size_t> height;  // Likewise.
};

/// A variable of the environment; empty if it is not set.
std::string_view environment_text(const char* name);

/// Looks at stdout, stderr, TERM, COLUMNS and the locale's variables. NO_COLOR and CLICOLOR_FORCE
/// are part of the settings, which `choice` comes from.
Terminal find_terminal(ColourChoice choice);

/// Writes to stdout or stderr.
void print(std::string_view text);
void complain(std::string_view text);

/// Has stdout write what was printed. False if it did not take everything, now or before.
bool flush();

/// The exit status of the process: `status`, or 74 if stdout did not take all that was printed (a
/// full disk, say). A reader that went away (EPIPE) is no failure and is not mentioned.
int flush_output(int status);

}  // namespace berth::cli
