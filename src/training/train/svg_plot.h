// SPDX-License-Identifier: Apache-2.0
// Lines over two axes, as an SVG file that a browser shows. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace berth::train {

struct Point {
  double x;
  double y;
};

struct Line {
  std::string name;
  std::vector<Point> points;  // What is not finite is left out, and the line broken there.
};

struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Line> lines;  // Six colours at most; they are used again.
  bool y_from_zero = false;
};

std::string to_svg(const Plot& plot);

/// About `count` round numbers from least to most: 0, 2, 4, 6 or 1.5, 2, 2.5.
std::vector<double> round_ticks(double least, double most, int count);

}  // namespace berth::train
