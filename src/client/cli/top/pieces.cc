// SPDX-License-Identifier: Apache-2.0
#include "cli/top/pieces.h"

#include <algorithm>

namespace berth::cli::top {
namespace {

constexpr Signs kUnicode = {"▕", "▏", "█", "░", "▓", "▒", "·",  "─",  " °C", "›",
                            "▲", "│", "▓", "╌", "‖", "✕", "├ ", "└ ", "│ ",  "  "};
constexpr Signs kAscii = {"[", "]", "#", "-", "x",  "=", ".",   "-",   " C",  ">",
                          "!", "|", "+", "~", "\"", "X", "|- ", "`- ", "|  ", "   "};

}  // namespace

const Signs& signs_of(Charset charset) {
  return charset.unicode ? kUnicode : kAscii;
}

void heading(const Drawing& drawing, const std::string& title, const Area& area) {
  Canvas& canvas = drawing.frame.canvas;
  const std::string_view rule = drawing.signs.rule;
  std::size_t column =
      canvas.put(area.top, area.left, std::string(rule) + " ", Style::kFaint, area.right);
  column = canvas.put(area.top, column, title + " ", Style::kDim, area.right);
  while (column < area.right) {
    column = canvas.put(area.top, column, rule, Style::kFaint, area.right);
  }
}

void mark(const Drawing& drawing, std::size_t row, LeaseId id, const Area& area) {
  Canvas& canvas = drawing.frame.canvas;
  const LeaseView* chosen = drawing.state.chosen();
  drawing.frame.by_row[row] = id;
  if (!drawing.look.keys || chosen == nullptr || chosen->id != id) return;
  canvas.put(row, area.left, drawing.signs.mark, Style::kBold);
  for (std::size_t column = area.left + 2; column < area.right; ++column) {
    const std::string letter = canvas.at(row, column).text;
    if (!letter.empty()) canvas.put(row, column, letter, Style::kChosen);
  }
}

}  // namespace berth::cli::top
