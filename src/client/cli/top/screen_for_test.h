// SPDX-License-Identifier: Apache-2.0
// Screens of the sample's machine, for tests of what is drawn.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/top/canvas.h"
#include "cli/top/draw.h"
#include "cli/top/keys.h"
#include "cli/top/sample_for_test.h"
#include "cli/top/state.h"

namespace berth::cli::top {

class TopScreen : public ::testing::Test {
 protected:
  void press(std::string_view keys) {
    for (const Key& key : KeyReader().take(keys)) (void)state_.press(key, 10);
  }
  Frame frame(std::size_t width, std::size_t height) const {
    return draw(state_, width, height, look_);
  }
  std::string screen(std::size_t width, std::size_t height) const {
    return "\n" + frame(width, height).canvas.text();
  }
  /// Columns of all rows.
  static std::string part(const Frame& frame, std::size_t from, std::size_t to) {
    Canvas cut(to - from, frame.canvas.height());
    for (std::size_t row = 0; row < cut.height(); ++row) {
      for (std::size_t column = from; column < to; ++column) {
        cut.put(row, column - from, frame.canvas.at(row, column).text);
      }
    }
    return "\n" + cut.text();
  }

  State state_{Options{}};
  Look look_{.context = cli::sample::context(),
             .clock = [](UnixMs when) { return to_text(when).substr(11, 8); }};
};

}  // namespace berth::cli::top
