// SPDX-License-Identifier: Apache-2.0
// Columns of text without boxes. Fits them into the terminal: what is dispensable goes, then long
// commands and sentences lose their last words, then the least important columns go, and names
// are cut only then, where they do not differ. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/render/text.h"

namespace berth::cli {

struct Column {
  enum class Align : std::uint8_t { kLeft, kRight };
  enum class Cut : std::uint8_t { kEnd, kName };

  std::string_view title;
  Align align = Align::kLeft;
  std::optional<std::size_t> shrinks_to;  // Cells may be cut down to this.
  unsigned importance = 9;     // 9: stays however narrow it gets; 0: goes before a cell is cut.
  unsigned shrinks_after = 1;  // Is cut only when all columns of less importance are gone.
  Cut cut = Cut::kEnd;
};

struct Cell {
  std::string text;  // Harmless.
  Colour colour = Colour::kPlain;
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  // As many cells each as there are columns.
  std::size_t indent = 0;
  bool header = true;
};

/// Takes out a column that has no text in any row.
void drop_if_empty(Table& table, std::size_t column);

/// Of its longest line, with nothing cut.
std::size_t width_of(const Table& table);

/// `width`: of the terminal; absent, nothing is shortened.
std::string render(Table table, std::optional<std::size_t> width, Charset charset);

/// One fact a line, the values below one another.
class Facts {
 public:
  /// A fact without a value is left out. The value must be harmless.
  void add(std::string_view name, std::string value);
  std::string text(Charset charset) &&;

 private:
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace berth::cli
