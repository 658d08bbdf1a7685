// SPDX-License-Identifier: Apache-2.0
// Bars on one axis of time: what ran, runs and is expected to start; and how far sets have come.
// Pure.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/top/pieces.h"

namespace berth::cli::top {

/// As much of the past, and of what is to come.
inline constexpr Duration kTimelineReach = minutes(90);
/// With its heading: less shows nothing.
inline constexpr std::size_t kTimelineRowsMin = 4;

class TimelinePane {
 public:
  TimelinePane(const Drawing& drawing, std::function<Style(LeaseId)> hue);

  /// With heading and axis.
  std::size_t rows_wanted() const { return rows_.size() + 1; }
  void draw(const Area& area);

 private:
  enum class Kind : std::uint8_t { kRan, kEnded, kExpected, kWaits, kSuspended, kNoEnd };
  /// `to`: absent: nobody knows.
  struct Span {
    Kind kind;
    UnixMs from;
    std::optional<UnixMs> to;
  };
  struct Row {
    LeaseId lease;
    std::string label;
    std::vector<Span> spans;
    bool is_live = true;      // It can be chosen.
    std::string remark = {};  // In place of what is to come.
  };

  void add_live(const LeaseView& lease);
  void add_waiting(const LeaseView& lease);
  void add_ended();
  std::size_t labels(const Area& area) const;
  std::size_t cell_of(UnixMs when, const Area& bars) const;
  void axis(const Area& head, const Area& bars) const;
  void bar(const Row& row, std::size_t at, const Area& bars) const;

  const Drawing& drawing_;
  const Known& known_;
  std::function<Style(LeaseId)> hue_;
  std::vector<Row> rows_;
};

/// Sets of jobs, two lines each. The row below them.
class SetPane {
 public:
  explicit SetPane(const Drawing& drawing);

  /// With the heading; 0: there are none.
  std::size_t rows_wanted() const { return sets_.empty() ? 0 : 2 * sets_.size() + 1; }
  std::size_t draw(const Area& area);

 private:
  /// Of its members: that ended well, and otherwise, that run, and all others.
  struct Set {
    const LeaseView* lease;
    std::array<std::uint64_t, 4> counts;
  };

  const Drawing& drawing_;
  std::vector<Set> sets_;
};

}  // namespace berth::cli::top
