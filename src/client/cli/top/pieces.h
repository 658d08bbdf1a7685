// SPDX-License-Identifier: Apache-2.0
// Pieces that the parts of a frame of `berth top` share: signs, areas, headings, the mark. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/top/canvas.h"
#include "cli/top/draw.h"
#include "cli/top/state.h"

namespace berth::cli::top {

struct Signs {
  std::string_view begin, end, used, unused, unmanaged, held_back, free, rule, degrees, mark, alert;
  std::string_view bar, ended, waits, suspended, failed;
  std::string_view child, last_child, below, below_last;
};
const Signs& signs_of(Charset charset);

/// A part of the screen: rows from `top` on, columns from `left` to `right`.
struct Area {
  std::size_t top = 0;
  std::size_t bottom = 0;  // Behind its last row.
  std::size_t left = 0;
  std::size_t right = 0;
  std::size_t rows() const { return bottom > top ? bottom - top : 0; }
  std::size_t columns() const { return right > left ? right - left : 0; }
};

/// A frame under way: what is drawn, for whom and into what. All outlive it.
struct Drawing {
  const State& state;
  const Look& look;
  const Signs& signs;
  Frame& frame;
};

/// A rule with a title in the first row of the area.
void heading(const Drawing& drawing, const std::string& title, const Area& area);
/// That row is of that lease: a click chooses it, and if it is chosen it is seen.
void mark(const Drawing& drawing, std::size_t row, LeaseId id, const Area& area);

}  // namespace berth::cli::top
