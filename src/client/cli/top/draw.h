// SPDX-License-Identifier: Apache-2.0
// Frames of `berth top`: devices with bars, leases, queue, events, for terminals of any size. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "cli/render/context.h"
#include "cli/top/canvas.h"
#include "cli/top/state.h"

namespace berth::cli::top {

inline constexpr std::size_t kWidthMin = 60;
inline constexpr std::size_t kHeightMin = 12;
inline constexpr std::size_t kReasonsShown = 5;  // Of the first that wait.

/// For whom, and how, a frame is drawn.
struct Look {
  RenderContext context;                     // Its colours are those of the canvas.
  std::function<std::string(UnixMs)> clock;  // "14:02:31"
  bool keys = true;                          // They are explained, and a lease is chosen.
};

struct Frame {
  Canvas canvas;
  std::size_t page = 1;                        // Rows of leases.
  std::map<std::size_t, LeaseId> by_row = {};  // What a click chooses.
};

Frame draw(const State& state, std::size_t width, std::size_t height, const Look& look);

}  // namespace berth::cli::top
