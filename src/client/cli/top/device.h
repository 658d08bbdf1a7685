// SPDX-License-Identifier: Apache-2.0
// Lines of a device in `berth top`: what it is, its memory as a bar, and how that was. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "cli/top/canvas.h"
#include "cli/top/draw.h"
#include "cli/top/pieces.h"
#include "cli/top/state.h"

namespace berth::cli::top {

class DevicePainter {
 public:
  /// The three must outlive it.
  DevicePainter(const State& state, const Look& look, Canvas& canvas);

  /// Two lines, and a third with its course. The row below them.
  std::size_t tall(const DeviceView& device, std::size_t row, bool with_course);
  void flat(const DeviceView& device, std::size_t row);
  Style hue(LeaseId id) const;

 private:
  std::string vitals(const DeviceView& device, std::size_t columns) const;
  std::string model_of(const DeviceView& device) const;
  void facts(const DeviceView& device, std::size_t row);
  void bar(const DeviceView& device, std::size_t row, const Area& area);
  void courses(const DeviceView& device, std::size_t row);
  void line(const std::deque<std::optional<std::uint64_t>>& values, std::uint64_t top,
            std::size_t row, std::size_t from, std::size_t to);

  const State& state_;
  const Known& known_;
  const Look& look_;
  const Signs& signs_;
  Canvas& canvas_;
  std::map<LeaseId, std::size_t> hues_;
};

}  // namespace berth::cli::top
