// SPDX-License-Identifier: Apache-2.0
#include "cli/top/canvas.h"

#include <algorithm>
#include <array>

#include "cli/render/text.h"

namespace berth::cli::top {
namespace {

constexpr std::string_view kBegin = "\x1b[";

// Parameters of SGR by style: for 256 colours and for 16, on dark and on light, and for none. The
// hues are the first ones of the page, as near as each has them (blue, orange, green, violet,
// cyan). Of 16, yellow cannot be read on white, whatever a terminal makes of it.
struct Sgr {
  std::string_view many;
  std::string_view many_on_light;
  std::string_view sixteen;
  std::string_view sixteen_on_light;
  std::string_view none;
};
constexpr std::array<Sgr, kStyles> kSgr = {{
    {"0", "0", "0", "0", "0"},
    {"0;38;5;245", "0;38;5;240", "0;2", "0;2", "0;2"},
    {"0;1", "0;1", "0;1", "0;1", "0;1"},
    {"0;38;5;172", "0;38;5;130", "0;33", "0;1;35", "0;1"},
    {"0;38;5;166", "0;38;5;160", "0;31", "0;31", "0;1"},
    {"0;7", "0;7", "0;7", "0;7", "0;7"},
    {"0;38;5;240", "0;38;5;247", "0;2", "0;2", "0;2"},
    {"0;38;5;68", "0;38;5;25", "0;34", "0;34", "0"},
    {"0;38;5;178", "0;38;5;136", "0;33", "0;31", "0"},
    {"0;38;5;36", "0;38;5;29", "0;32", "0;32", "0"},
    {"0;38;5;175", "0;38;5;133", "0;35", "0;35", "0"},
    {"0;38;5;117", "0;38;5;67", "0;36", "0;36", "0"},
}};

std::string position(std::size_t row, std::size_t column) {
  return std::string(kBegin) + std::to_string(row + 1) + ";" + std::to_string(column + 1) + "H";
}

// Cells that are the same are cheaper sent again than jumped over, if they are few.
constexpr std::size_t kJumpWorth = 6;

}  // namespace

std::string_view sgr_of(Style style, Palette palette) {
  const Sgr& sgr = kSgr.at(static_cast<std::size_t>(style));
  const bool is_light = palette.background == Background::kLight;
  switch (palette.colours) {
    case Colours::kMany:
      return is_light ? sgr.many_on_light : sgr.many;
    case Colours::kSixteen:
      return is_light ? sgr.sixteen_on_light : sgr.sixteen;
    case Colours::kNone:
      break;
  }
  return sgr.none;
}

Canvas::Canvas(std::size_t width, std::size_t height)
    : width_(width), height_(height), cells_(width * height) {}

std::size_t Canvas::put(std::size_t row, std::size_t column, std::string_view text, Style style,
                        std::size_t end) {
  end = std::min(end, width_);
  if (row >= height_) return column;
  while (!text.empty()) {
    // The next letter, with what combines with it.
    std::size_t bytes = 1;
    while (bytes < text.size() &&
           ((static_cast<unsigned char>(text[bytes]) & 0xc0U) == 0x80 ||
            columns_of(text.substr(0, bytes + 1)) == columns_of(text.substr(0, bytes)))) {
      ++bytes;
    }
    const std::string_view letter = text.substr(0, bytes);
    const std::size_t columns = columns_of(letter);
    if (column + columns > end) break;
    cells_[row * width_ + column] = {std::string(letter), style};
    for (std::size_t i = 1; i < columns; ++i) cells_[row * width_ + column + i] = {"", style};
    column += columns;
    text.remove_prefix(bytes);
  }
  return column;
}

std::size_t Canvas::put_before(std::size_t row, std::size_t end, std::string_view text,
                               Style style) {
  const std::size_t columns = columns_of(text);
  const std::size_t begin = columns > end ? 0 : end - columns;
  put(row, begin, text, style, end);
  return begin;
}

void Canvas::paint(std::size_t row, Style style) {
  for (std::size_t i = 0; i < width_ && row < height_; ++i) cells_[row * width_ + i].style = style;
}

std::string Canvas::text() const {
  std::string all;
  for (std::size_t row = 0; row < height_; ++row) {
    std::string line;
    for (std::size_t column = 0; column < width_; ++column) line += at(row, column).text;
    line.erase(line.find_last_not_of(' ') + 1);
    all += line + "\n";
  }
  return all;
}

std::string changes(const Canvas& before, const Canvas& now, Palette palette) {
  const bool is_new = before.width() != now.width() || before.height() != now.height();
  const Canvas blank(now.width(), now.height());
  const Canvas& shown = is_new ? blank : before;
  std::string sent = is_new ? "\x1b[0m\x1b[2J" : "";
  std::string_view sgr = "0";
  for (std::size_t row = 0; row < now.height(); ++row) {
    std::size_t cursor =
        SIZE_MAX;  // The column at which the terminal writes next; none in this row.
    for (std::size_t column = 0; column < now.width(); ++column) {
      const Cell& cell = now.at(row, column);
      if (cell == shown.at(row, column) || cell.text.empty()) continue;
      // Back to where the last letter was, if it is near.
      std::size_t from = column;
      if (cursor != SIZE_MAX && column - cursor < kJumpWorth) from = cursor;
      if (from == column && cursor != column) sent += position(row, column);
      for (std::size_t i = from; i <= column; ++i) {
        const Cell& one = now.at(row, i);
        if (const std::string_view wanted = sgr_of(one.style, palette); wanted != sgr) {
          sent.append(kBegin).append(wanted).append("m");
          sgr = wanted;
        }
        sent += one.text;
      }
      cursor = column + std::max<std::size_t>(columns_of(cell.text), 1);
    }
  }
  if (sgr != "0") sent += "\x1b[0m";
  return sent;
}

}  // namespace berth::cli::top
