// SPDX-License-Identifier: Apache-2.0
#include "cli/render/table.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/checked.h"
#include "cli/render/cutting.h"

namespace berth::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr unsigned kStays = 9;             // The importance of what is never left out.
constexpr std::size_t kReadableName = 20;  // Narrower only where no column is left to go.

std::vector<std::size_t> natural_widths(const Table& table) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    std::size_t width = table.header ? columns_of(table.columns[i].title) : 0;
    for (const auto& row : table.rows) width = std::max(width, columns_of(row[i].text));
    widths.push_back(width);
  }
  return widths;
}

std::size_t total(const std::vector<std::size_t>& widths, std::size_t indent) {
  std::size_t sum = indent;
  for (const std::size_t width : widths) sum += width;
  return widths.empty() ? sum : sum + kGap * (widths.size() - 1);
}

// How narrow a column may get while the least important of all has this importance.
std::size_t least_of(const Column& column, unsigned importance) {
  const std::size_t least = checked(column.shrinks_to);
  const bool others_go_first = column.cut == Column::Cut::kName && importance < kStays;
  return others_go_first ? std::max(least, kReadableName) : least;
}

// Takes what is too much from the columns that shrink, the widest first. What is left too much.
std::size_t shrink(const Table& table, std::vector<std::size_t>& widths, std::size_t too_much,
                   unsigned importance) {
  while (too_much > 0) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const Column& column = table.columns[i];
      if (!column.shrinks_to || column.shrinks_after > importance) continue;
      if (widths[i] <= least_of(column, importance)) continue;
      if (widest == nullptr || widths[i] >= *widest) widest = &widths[i];
    }
    if (widest == nullptr) break;
    --*widest;
    --too_much;
  }
  return too_much;
}

// Takes columns away until what is left has room. The widths of those.
std::vector<std::size_t> fit(Table& table, std::size_t width) {
  for (;;) {
    std::vector<std::size_t> widths = natural_widths(table);
    const std::size_t needed = total(widths, table.indent);
    if (needed <= width || table.columns.empty()) return widths;
    const auto least = std::ranges::min_element(table.columns, {}, &Column::importance);
    const unsigned importance = std::min(least->importance, kStays);
    const std::size_t left =
        importance == 0 ? needed - width : shrink(table, widths, needed - width, importance);
    if (left == 0 || importance == kStays) return widths;
    const auto at = least - table.columns.begin();
    table.columns.erase(least);
    for (auto& row : table.rows) row.erase(row.begin() + at);
  }
}

void cut_cells(Table& table, std::size_t column, std::size_t width, Charset charset) {
  if (table.columns[column].cut == Column::Cut::kName) {
    std::vector<std::string> names;
    names.reserve(table.rows.size());
    for (const auto& row : table.rows) names.push_back(row[column].text);
    names = told_apart(names, width, charset);
    for (std::size_t i = 0; i < names.size(); ++i) table.rows[i][column].text = names[i];
  } else {
    for (auto& row : table.rows) {
      row[column].text = without_end(row[column].text, width, charset);
    }
  }
}

std::string line_of(const Table& table, const std::vector<Cell>& row,
                    const std::vector<std::size_t>& widths, Charset charset) {
  std::string line(table.indent, ' ');
  std::size_t pending = 0;  // Blanks, written only if something follows.
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string& text = row[i].text;
    const std::size_t fill = widths[i] - std::min(widths[i], columns_of(text));
    const bool right = table.columns[i].align == Column::Align::kRight;
    if (right) pending += fill;
    if (!text.empty()) {
      line.append(pending, ' ').append(painted(text, row[i].colour, charset));
      pending = 0;
    }
    pending += (right ? 0 : fill) + kGap;
  }
  return line + "\n";
}

}  // namespace

void drop_if_empty(Table& table, std::size_t column) {
  const auto at = static_cast<std::ptrdiff_t>(column);
  const bool empty = std::ranges::all_of(
      table.rows, [&](const std::vector<Cell>& row) { return row[column].text.empty(); });
  if (!empty) return;
  table.columns.erase(table.columns.begin() + at);
  for (std::vector<Cell>& row : table.rows) row.erase(row.begin() + at);
}

std::size_t width_of(const Table& table) {
  return total(natural_widths(table), table.indent);
}

std::string render(Table table, std::optional<std::size_t> width, Charset charset) {
  for (const auto& row : table.rows) CHECK(row.size() == table.columns.size());
  std::vector<std::size_t> widths = natural_widths(table);
  if (width && total(widths, table.indent) > *width) {
    widths = fit(table, *width);
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (table.columns[i].shrinks_to) cut_cells(table, i, widths[i], charset);
    }
    widths = natural_widths(table);
  }
  std::string text;
  if (table.header) {
    std::vector<Cell> titles;
    titles.reserve(table.columns.size());
    for (const Column& column : table.columns) {
      titles.push_back({std::string(column.title), Colour::kDim});
    }
    text += line_of(table, titles, widths, charset);
  }
  for (const auto& row : table.rows) text += line_of(table, row, widths, charset);
  return text;
}

void Facts::add(std::string_view name, std::string value) {
  if (!value.empty()) rows_.push_back({{std::string(name), Colour::kDim}, {std::move(value)}});
}

std::string Facts::text(Charset charset) && {
  Table table{.columns = {{}, {}}, .rows = std::move(rows_), .indent = 2, .header = false};
  return render(std::move(table), std::nullopt, charset);
}

}  // namespace berth::cli
