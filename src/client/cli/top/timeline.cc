// SPDX-License-Identifier: Apache-2.0
#include "cli/top/timeline.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cli/render/phrases.h"

namespace berth::cli::top {
namespace {

constexpr std::int64_t kReachMs = kTimelineReach.ns / milliseconds(1).ns;
constexpr std::int64_t kHalfHourMs = minutes(30).ns / milliseconds(1).ns;
constexpr std::size_t kOpenCells = 6;   // Of what has no known end.
constexpr std::size_t kLabelsMax = 28;  // Columns.

UnixMs later(UnixMs when, Duration by) {
  return {when.value + (by.ns / milliseconds(1).ns)};
}

// So that they add up to `cells`, and what there is of has one at least where there is room.
std::array<std::size_t, 4> shares(const std::array<std::uint64_t, 4>& counts, std::size_t cells) {
  std::uint64_t all = 0;
  for (const std::uint64_t count : counts) all += count;
  std::array<std::size_t, 4> shares = {};
  if (all == 0) return shares;
  double sum = 0;
  std::size_t before = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    sum += static_cast<double>(counts.at(i));
    const double share = sum / static_cast<double>(all) * static_cast<double>(cells);
    const auto until = static_cast<std::size_t>(std::lround(share));
    shares.at(i) = until - before;
    before = until;
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto most = std::ranges::max_element(shares);
    if (counts.at(i) == 0 || shares.at(i) > 0 || *most < 2) continue;
    --*most;
    ++shares.at(i);
  }
  return shares;
}

}  // namespace

TimelinePane::TimelinePane(const Drawing& drawing, std::function<Style(LeaseId)> hue)
    : drawing_(drawing), known_(drawing.state.shown()), hue_(std::move(hue)) {
  for (const LeaseView* lease : drawing.state.rows()) add_live(*lease);
  for (const LeaseView* lease : drawing.state.queue()) add_waiting(*lease);
  add_ended();
}

void TimelinePane::add_live(const LeaseView& lease) {
  if (!lease.started_at) return;
  const UnixMs now = known_.time;
  Row row{.lease = lease.id,
          .label = to_text(lease.id) + " " + session_of(lease, drawing_.look.context)};
  if (lease.state == LeaseState::kSuspended) {
    const UnixMs since = lease.halt ? lease.halt->since : now;
    row.spans = {{Kind::kRan, *lease.started_at, since}, {Kind::kSuspended, since, now}};
  } else {
    row.spans = {{Kind::kRan, *lease.started_at, now}};
    const std::optional<UnixMs> end = lease.expected_end ? lease.expected_end : lease.expires_at;
    if (!end) row.spans.push_back({Kind::kNoEnd, now, std::nullopt});
    if (end && *end > now) row.spans.push_back({Kind::kExpected, now, end});
  }
  rows_.push_back(std::move(row));
}

// A set waits for its members, and they stand here.
void TimelinePane::add_waiting(const LeaseView& lease) {
  if (lease.set) return;
  Row row{.lease = lease.id,
          .label = to_text(lease.id) + " " + session_of(lease, drawing_.look.context)};
  const auto why = known_.reasons.find(lease.id);
  const auto start = why == known_.reasons.end() ? std::nullopt : why->second.expected_start;
  if (start) {
    const std::optional<Duration> length =
        lease.request.eta ? lease.request.eta : lease.request.limit;
    const UnixMs from = std::max(*start, known_.time);
    row.spans = {{Kind::kWaits, from, length ? std::optional(later(from, *length)) : std::nullopt}};
    if (from.value > known_.time.value + kReachMs) {
      row.remark = "starts " + about(*start, drawing_.look.context);
    }
  } else {
    row.remark = why == known_.reasons.end() ? "waits" : "start not known";
  }
  rows_.push_back(std::move(row));
}

// The last one first. On which GPUs they were is not remembered of all.
void TimelinePane::add_ended() {
  const State& state = drawing_.state;
  if (state.options().gpu || !state.find().empty()) return;
  std::vector<const Ended*> ended;
  for (const auto& [id, one] : known_.ended) {
    const bool wanted = !state.options().mine || one.user == known_.viewer.user;
    const bool is_seen = one.to.value > known_.time.value - kReachMs;
    if (wanted && is_seen && !known_.leases.contains(id)) ended.push_back(&one);
  }
  std::ranges::stable_sort(ended, std::greater(), &Ended::to);
  for (const Ended* one : ended) {
    const bool is_good = !one->result || *one->result == EndResult::kOk;
    rows_.push_back(
        {.lease = one->id,
         .label = to_text(one->id) + " " + session_of(one->user, one->name, drawing_.look.context),
         .spans = {{Kind::kEnded, one->from, one->to}},
         .is_live = false,
         .remark = is_good ? "" : std::string(to_text(*one->result))});
  }
}

std::size_t TimelinePane::labels(const Area& area) const {
  std::size_t most = 0;
  for (const Row& row : rows_) most = std::max(most, columns_of(row.label));
  return std::min({most, kLabelsMax, area.columns() / 3});
}

std::size_t TimelinePane::cell_of(UnixMs when, const Area& bars) const {
  const std::int64_t from = known_.time.value - kReachMs;
  const std::int64_t since = std::clamp<std::int64_t>(when.value - from, 0, 2 * kReachMs);
  const auto cells = static_cast<std::int64_t>(bars.columns());
  return bars.left + static_cast<std::size_t>(since * cells / (2 * kReachMs));
}

void TimelinePane::draw(const Area& area) {
  if (area.rows() < 2 || rows_.empty()) return;
  Canvas& canvas = drawing_.frame.canvas;
  const Area bars = {area.top, area.bottom, area.left + 2 + labels(area) + 2, area.right - 1};
  const LeaseView* chosen = drawing_.state.chosen();
  const std::size_t page = area.rows() - 1;
  const auto found =
      std::ranges::find(rows_, chosen == nullptr ? LeaseId{} : chosen->id, &Row::lease);
  const auto at = found == rows_.end() ? 0 : static_cast<std::size_t>(found - rows_.begin());
  const std::size_t first = at / page * page;
  heading(drawing_, "Timeline", area);
  Area head = area;
  if (rows_.size() > page) {
    const std::string where = "  " + std::to_string(first + 1) + " to " +
                              std::to_string(std::min(first + page, rows_.size())) + " of " +
                              std::to_string(rows_.size()) + " ";
    head.right = canvas.put_before(area.top, area.right, where, Style::kDim);
  }
  axis(head, bars);
  for (std::size_t i = first; i < std::min(first + page, rows_.size()); ++i) {
    const Row& row = rows_[i];
    const std::size_t line = area.top + 1 + i - first;
    canvas.put(line, area.left + 2, row.label, row.is_live ? Style::kPlain : Style::kDim,
               bars.left - 2);
    bar(row, line, bars);
    if (row.is_live) mark(drawing_, line, row.lease, {line, line + 1, area.left, bars.left - 2});
  }
}

// Each half hour, where the text has room beside the one before.
void TimelinePane::axis(const Area& head, const Area& bars) const {
  Canvas& canvas = drawing_.frame.canvas;
  const auto text_of = [&](UnixMs when) {
    return " " + drawing_.look.clock(when).substr(0, 5) + " ";
  };
  const std::string now = " now" + text_of(known_.time);
  const std::size_t now_at = cell_of(known_.time, bars);
  const std::size_t now_left = now_at - std::min(now_at, columns_of(now) / 2);
  const std::int64_t from = known_.time.value - kReachMs;
  std::size_t free = std::max(bars.left, head.left + columns_of("- Timeline "));
  for (std::int64_t tick = from / kHalfHourMs * kHalfHourMs; tick < from + 2 * kReachMs;
       tick += kHalfHourMs) {
    if (tick < from) continue;
    const std::string text = text_of({tick});
    const std::size_t left = cell_of({tick}, bars) - std::min<std::size_t>(3, bars.left);
    const std::size_t right = left + columns_of(text);
    const bool is_at_now = right > now_left && left < now_left + columns_of(now);
    if (left < free || right > head.right || is_at_now) continue;
    free = canvas.put(head.top, left, text, Style::kDim);
  }
  canvas.put(head.top, now_left, now, Style::kBold, head.right);
}

void TimelinePane::bar(const Row& row, std::size_t at, const Area& bars) const {
  Canvas& canvas = drawing_.frame.canvas;
  const Signs& signs = drawing_.signs;
  const std::size_t now = cell_of(known_.time, bars);
  std::size_t end = now;
  for (const Span& span : row.spans) {
    const bool is_past =
        span.kind == Kind::kRan || span.kind == Kind::kEnded || span.kind == Kind::kSuspended;
    // A cell at least, on its side of now.
    const std::size_t from = is_past ? std::min(cell_of(span.from, bars), now - 1)
                                     : std::max(cell_of(span.from, bars), now + 1);
    const std::size_t open = from + kOpenCells;
    const std::size_t to = span.to ? std::max(cell_of(*span.to, bars), from + 1) : open;
    const auto [sign, style] = [&]() -> std::pair<std::string_view, Style> {
      switch (span.kind) {
        case Kind::kRan:
          return {signs.used, hue_(row.lease)};
        case Kind::kEnded:
          return {signs.ended, Style::kDim};
        case Kind::kExpected:
          return {signs.unused, hue_(row.lease)};
        case Kind::kWaits:
          return {signs.waits, Style::kPlain};
        case Kind::kSuspended:
          return {signs.suspended, hue_(row.lease)};
        case Kind::kNoEnd:
          break;
      }
      return {signs.free, Style::kDim};
    }();
    for (std::size_t column = from; column < std::min(to, bars.right); ++column) {
      canvas.put(at, column, sign, style);
      end = std::max(end, column);
    }
  }
  canvas.put(at, now, signs.bar, Style::kBold);
  canvas.put(at, end + 2, row.remark, Style::kDim, bars.right);
}

SetPane::SetPane(const Drawing& drawing) : drawing_(drawing) {
  const Known& known = drawing.state.shown();
  for (const auto& [id, lease] : known.leases) {
    if (!lease.set || (drawing.state.options().mine && lease.user != known.viewer.user)) continue;
    std::uint64_t running = 0;
    for (const auto& [other, member] : known.leases) {
      const bool is_of_it = member.request.member && member.request.member->set == id;
      const bool runs = member.state != LeaseState::kWaiting && member.state != LeaseState::kEnded;
      running += is_of_it && runs ? 1 : 0;
    }
    const std::uint64_t all = lease.request.members;
    const std::uint64_t ended = lease.set->ended;
    const std::uint64_t failed = std::min<std::uint64_t>(lease.set->failed, ended);
    const std::uint64_t others = all - std::min(all, ended + running);
    sets_.push_back({&lease, {ended - failed, failed, running, others}});
  }
}

std::size_t SetPane::draw(const Area& area) {
  if (sets_.empty() || area.rows() < 2) return area.top;
  Canvas& canvas = drawing_.frame.canvas;
  const Signs& signs = drawing_.signs;
  const std::array<std::pair<std::string_view, Style>, 4> parts = {{{signs.used, Style::kHue2},
                                                                    {signs.failed, Style::kBad},
                                                                    {signs.unused, Style::kHue0},
                                                                    {signs.free, Style::kFaint}}};
  constexpr std::array<std::string_view, 4> kWords = {" ok", " failed", " run", " wait"};
  heading(drawing_, "Sets " + std::to_string(sets_.size()), area);
  std::size_t row = area.top + 1;
  for (const Set& set : sets_) {
    if (row >= area.bottom) break;
    std::string counts;
    for (std::size_t i = 0; i < kWords.size(); ++i) {
      counts += "  " + std::to_string(set.counts.at(i)) + std::string(kWords.at(i));
    }
    if (set.lease->hold) counts += "  on hold";
    const std::string name =
        to_text(set.lease->id) + " " + session_of(*set.lease, drawing_.look.context);
    const std::size_t room = area.columns() - std::min(area.columns(), columns_of(counts) + 2);
    const std::size_t end =
        canvas.put(row, area.left + 2, name, Style::kPlain, area.left + 2 + room);
    canvas.put(row, end, counts, Style::kDim, area.right);
    mark(drawing_, row, set.lease->id, {row, row + 1, area.left, end});
    if (++row >= area.bottom) break;
    const std::size_t left = area.left + 2;
    const std::array<std::size_t, 4> cells = shares(set.counts, area.right - 1 - left);
    std::size_t column = left;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      for (std::size_t n = 0; n < cells.at(i); ++n) {
        column = canvas.put(row, column, parts.at(i).first, parts.at(i).second, area.right);
      }
    }
    ++row;
  }
  return row;
}

}  // namespace berth::cli::top
