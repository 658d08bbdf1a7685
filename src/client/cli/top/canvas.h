// SPDX-License-Identifier: Apache-2.0
// A screen of cells, and what has to be sent to a terminal so that it shows the next one: the cells
// that differ, and nothing else. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth::cli::top {

enum class Style : std::uint8_t {
  kPlain,
  kDim,
  kBold,
  kWarn,
  kBad,
  kChosen,
  kFaint,  // What is free, and grids.
  kHue0,   // Of leases; the others follow.
  kHue1,
  kHue2,
  kHue3,
  kHue4,
};
inline constexpr std::size_t kStyles = 12;
inline constexpr std::size_t kHues = 5;

/// How many colours a terminal has.
enum class Colours : std::uint8_t { kNone, kSixteen, kMany };
/// What they have to be legible on. It is never painted.
enum class Background : std::uint8_t { kDark, kLight };
struct Palette {
  Colours colours = Colours::kNone;
  Background background = Background::kDark;
};
/// The parameters of SGR that make text look so.
std::string_view sgr_of(Style style, Palette palette);

struct Cell {
  std::string text = " ";  // A letter; empty behind one that takes two columns.
  Style style = Style::kPlain;
  friend bool operator==(const Cell&, const Cell&) = default;
};

class Canvas {
 public:
  Canvas(std::size_t width, std::size_t height);

  std::size_t width() const { return width_; }
  std::size_t height() const { return height_; }
  /// Harmless text, cut at `end` (the width, unless told). The column behind it.
  std::size_t put(std::size_t row, std::size_t column, std::string_view text,
                  Style style = Style::kPlain, std::size_t end = SIZE_MAX);
  /// So that it ends before `end`. The column where it begins.
  std::size_t put_before(std::size_t row, std::size_t end, std::string_view text,
                         Style style = Style::kPlain);
  /// All of a row.
  void paint(std::size_t row, Style style);

  const Cell& at(std::size_t row, std::size_t column) const {
    return cells_[row * width_ + column];
  }
  /// Rows without blanks at their ends, one a line.
  std::string text() const;

 private:
  std::size_t width_;
  std::size_t height_;
  std::vector<Cell> cells_;
};

/// What makes a screen that shows `before` show `now`; of another size: one that shows anything.
std::string changes(const Canvas& before, const Canvas& now, Palette palette);

}  // namespace berth::cli::top
