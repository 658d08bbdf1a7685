// SPDX-License-Identifier: Apache-2.0
#include "cli/render/table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace berth::cli {
namespace {

constexpr std::size_t kGap = 2;

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

// Takes what is too much from the columns that shrink, the widest first. What is left too much.
std::size_t shrink(const Table& table, std::vector<std::size_t>& widths, std::size_t too_much) {
  while (too_much > 0) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const auto least = table.columns[i].shrinks_to;
      if (!least || widths[i] <= *least) continue;
      if (widest == nullptr || widths[i] >= *widest) widest = &widths[i];
    }
    if (widest == nullptr) break;
    --*widest;
    --too_much;
  }
  return too_much;
}

bool drop_least_important(Table& table, unsigned importance_max) {
  const auto least = std::min_element(
      table.columns.begin(), table.columns.end(),
      [](const Column& a, const Column& b) { return a.importance < b.importance; });
  if (least == table.columns.end() || least->importance > importance_max) return false;
  const auto at = least - table.columns.begin();
  table.columns.erase(least);
  for (auto& row : table.rows) row.erase(row.begin() + at);
  return true;
}

std::string line_of(const Table& table, const std::vector<Cell>& row,
                    const std::vector<std::size_t>& widths, Letters letters) {
  std::string line(table.indent, ' ');
  std::size_t pending = 0;  // Blanks, written only if something follows.
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string text = shortened(row[i].text, widths[i], letters);
    const std::size_t fill = widths[i] - std::min(widths[i], columns_of(text));
    const bool right = table.columns[i].align == Column::Align::kRight;
    if (right) pending += fill;
    if (!text.empty()) {
      line.append(pending, ' ').append(painted(text, row[i].colour, letters));
      pending = 0;
    }
    pending += (right ? 0 : fill) + kGap;
  }
  return line + "\n";
}

}  // namespace

std::string render(Table table, std::optional<std::size_t> width, Letters letters) {
  for (const auto& row : table.rows) CHECK(row.size() == table.columns.size());
  std::vector<std::size_t> widths = natural_widths(table);
  while (width && total(widths, table.indent) > *width && drop_least_important(table, 0)) {
    widths = natural_widths(table);
  }
  while (width && total(widths, table.indent) > *width) {
    if (shrink(table, widths, total(widths, table.indent) - *width) == 0) break;
    if (!drop_least_important(table, 8)) break;
    widths = natural_widths(table);
  }
  std::string text;
  if (table.header) {
    std::vector<Cell> titles;
    titles.reserve(table.columns.size());
    for (const Column& column : table.columns) {
      titles.push_back({std::string(column.title), Colour::kDim});
    }
    text += line_of(table, titles, widths, letters);
  }
  for (const auto& row : table.rows) text += line_of(table, row, widths, letters);
  return text;
}

}  // namespace berth::cli
