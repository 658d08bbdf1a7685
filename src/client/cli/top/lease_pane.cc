// SPDX-License-Identifier: Apache-2.0
#include "cli/top/lease_pane.h"

#include <algorithm>
#include <span>
#include <string>

#include "cli/render/table.h"
#include "cli/render/text.h"

namespace berth::cli::top {

LeasePane::LeasePane(const Drawing& drawing)
    : drawing_(drawing),
      lines_(drawing.state.has_tree() ? tree_of(drawing.state, drawing.look.context)
                                      : list_of(drawing.state)) {}

std::size_t LeasePane::rows_wanted() const {
  return std::max<std::size_t>(lines_.size(), 1) + 1;
}

// The page that the chosen one is on; where its processes would be on the next, it begins with it.
std::size_t LeasePane::first_of(std::size_t page) const {
  const LeaseView* chosen = drawing_.state.chosen();
  if (chosen == nullptr) return 0;
  const auto found = std::ranges::find(lines_, chosen->id, &TreeLine::lease);
  if (found == lines_.end()) return 0;
  const auto end = std::find_if(found, lines_.end(),
                                [&](const TreeLine& line) { return line.lease != chosen->id; });
  const auto at = static_cast<std::size_t>(found - lines_.begin());
  const std::size_t first = at / page * page;
  return static_cast<std::size_t>(end - lines_.begin()) > first + page ? at : first;
}

void LeasePane::draw(const Area& area) {
  if (area.rows() < 2) return;
  Canvas& canvas = drawing_.frame.canvas;
  const std::size_t page = area.rows() - 1;
  const std::size_t first = first_of(page);
  const std::size_t last = std::min(first + page, lines_.size());
  drawing_.frame.page = page;
  if (lines_.empty()) {
    const bool is_all = drawing_.state.find().empty();
    canvas.put(area.top, area.left + 2,
               is_all ? "No leases.  berth run -m 8G -- COMMAND starts one." : "No lease matches.",
               Style::kDim, area.right);
    return;
  }
  RenderContext context = drawing_.look.context;
  context.width = area.columns() - 2;
  const std::span<const TreeLine> shown = std::span(lines_).subspan(first, last - first);
  std::vector<LeaseLine> lines;
  lines.reserve(shown.size());
  for (const TreeLine& line : shown) lines.push_back(line.line);
  const std::string text =
      render(lease_table(lines, Detail::kTable, context), context.width, context.charset);
  std::size_t row = area.top;
  for (const std::string& line : lines_of(text)) {
    if (row >= area.bottom) break;
    const bool is_head = row == area.top;
    const std::size_t at = row - area.top - (is_head ? 0 : 1);
    const bool is_lease = !is_head && at < shown.size() && shown[at].is_lease;
    const bool is_below = drawing_.state.has_tree() && !is_lease;
    canvas.put(row, area.left + 2, line, is_head || is_below ? Style::kDim : Style::kPlain,
               area.right);
    if (is_lease) {
      mark(drawing_, row, shown[at].lease, area);
    } else if (!is_head && at < shown.size() && shown[at].lease != LeaseId{}) {
      drawing_.frame.by_row[row] = shown[at].lease;
    }
    ++row;
  }
  if (drawing_.state.has_tree()) {
    const auto leases = std::ranges::count_if(shown, &TreeLine::is_lease);
    drawing_.frame.page = static_cast<std::size_t>(std::max<std::ptrdiff_t>(leases, 1));
  }
  say_where(first, last, area);
}

void LeasePane::say_where(std::size_t first, std::size_t last, const Area& area) const {
  const auto leases = [&](std::size_t from, std::size_t to) {
    return static_cast<std::size_t>(
        std::count_if(lines_.begin() + static_cast<std::ptrdiff_t>(from),
                      lines_.begin() + static_cast<std::ptrdiff_t>(to),
                      [](const TreeLine& line) { return line.is_lease; }));
  };
  const std::size_t before = leases(0, first);
  const std::size_t here = leases(first, last);
  const std::size_t all = leases(0, lines_.size());
  if (here == all || here == 0) return;
  const std::string where = "  " + std::to_string(before + 1) + " to " +
                            std::to_string(before + here) + " of " + std::to_string(all) + " ";
  drawing_.frame.canvas.put_before(area.top, area.right, where, Style::kDim);
}

}  // namespace berth::cli::top
