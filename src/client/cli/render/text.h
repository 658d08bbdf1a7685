// SPDX-License-Identifier: Apache-2.0
// Text for a terminal: what others named is made harmless, columns are counted, lines are broken.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::cli {

/// What a terminal may be sent.
struct Charset {
  bool unicode = false;
  bool colour = false;
};

/// Names and command lines come from anybody: control characters (escape sequences with them),
/// marks that turn the direction of text, and bytes that are no UTF-8 become '?'; so does
/// everything beyond ASCII where the terminal has none of it.
std::string escape_control(std::string_view untrusted, Charset charset);

/// The same for text of several lines, which stay apart.
std::string escape_control_lines(std::string_view untrusted, Charset charset);

/// The same JSON, with what escape_control() takes out of text written as \uXXXX.
std::string json_for_terminal(std::string_view json);

/// Columns that a terminal needs for it. Of harmless text.
std::size_t columns_of(std::string_view text);

/// The longest beginning, and the longest end, with so many columns.
std::string_view beginning(std::string_view text, std::size_t columns);
std::string_view ending(std::string_view text, std::size_t columns);

/// Breaks text at blanks so that no line is longer than `width`, a word that is longer apart: it
/// may be there to be copied. Each line begins with `indent` blanks; line ends of the text stay.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width);

/// Its lines, without what ends them.
std::vector<std::string> lines_of(std::string_view text);

/// What lies between the commas; at least one item.
std::vector<std::string_view> items_of(std::string_view list);

enum class Colour : std::uint8_t { kPlain, kDim, kBold, kRed, kYellow, kGreen };

/// A colour never says alone what no word says.
std::string painted(std::string_view text, Colour colour, Charset charset);

/// Signs beyond ASCII, and what stands for them without.
struct Glyphs {
  std::string_view ellipsis, dash, minus, dot, about;
  std::string_view bar_begin, bar_end, bar_used, bar_granted, bar_free;
};
const Glyphs& glyphs_of(Charset charset);

}  // namespace berth::cli
