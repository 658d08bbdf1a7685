// SPDX-License-Identifier: Apache-2.0
#include "train/svg_plot.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

namespace berth::train {
namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 420;
constexpr double kLeft = 80;
constexpr double kRight = 20;
constexpr double kTop = 40;
constexpr double kBottom = 60;
constexpr int kTicks = 6;
// Told apart by people who see no red or no green as well (Okabe, Ito 2008).
constexpr std::array<std::string_view, 6> kColours = {"#0072b2", "#d55e00", "#009e73",
                                                      "#cc79a7", "#e69f00", "#000000"};

std::string number(double value) {
  std::array<char, 40> text{};
  const double shown = value == 0 ? 0 : value;  // Without the sign of -0.
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), shown, std::chars_format::general, 6);
  return {text.data(), end.ptr};
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<') {
      safe += "&lt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else {
      safe += c;
    }
  }
  return safe;
}

bool is_finite(const Point& point) {
  return std::isfinite(point.x) && std::isfinite(point.y);
}

struct Frame {
  double x_least = std::numeric_limits<double>::max();
  double x_most = std::numeric_limits<double>::lowest();
  double y_least = std::numeric_limits<double>::max();
  double y_most = std::numeric_limits<double>::lowest();

  double x(double value) const {
    return kLeft + (value - x_least) / (x_most - x_least) * (kWidth - kLeft - kRight);
  }
  double y(double value) const {
    return kHeight - kBottom - (value - y_least) / (y_most - y_least) * (kHeight - kTop - kBottom);
  }
};

Frame frame_of(const Plot& plot) {
  Frame frame;
  for (const Line& line : plot.lines) {
    for (const Point& point : line.points) {
      if (!is_finite(point)) continue;
      frame.x_least = std::min(frame.x_least, point.x);
      frame.x_most = std::max(frame.x_most, point.x);
      frame.y_least = std::min(frame.y_least, point.y);
      frame.y_most = std::max(frame.y_most, point.y);
    }
  }
  if (frame.x_least > frame.x_most) frame = {.x_least = 0, .x_most = 1, .y_least = 0, .y_most = 1};
  if (plot.y_from_zero) frame.y_least = std::min(frame.y_least, 0.0);
  if (frame.x_least == frame.x_most) frame.x_most += 1;
  if (frame.y_least == frame.y_most) frame.y_most += 1;
  return frame;
}

struct Label {
  double x;
  double y;
  std::string_view anchor;
  std::string_view text;
};

void add(std::string& svg, const Label& label) {
  svg.append("<text x=\"").append(number(label.x)).append("\" y=\"").append(number(label.y));
  svg.append("\" text-anchor=\"").append(label.anchor).append("\">");
  svg.append(escaped(label.text)).append("</text>\n");
}

void add_rule(std::string& svg, const Point& from, const Point& to) {
  svg.append("<line stroke=\"#ddd\" x1=\"").append(number(from.x)).append("\" y1=\"");
  svg.append(number(from.y)).append("\" x2=\"").append(number(to.x)).append("\" y2=\"");
  svg.append(number(to.y)).append("\"/>\n");
}

void add_axes(std::string& svg, const Plot& plot, const Frame& frame) {
  for (const double tick : round_ticks(frame.x_least, frame.x_most, kTicks)) {
    const double x = frame.x(tick);
    add_rule(svg, {x, kTop}, {x, kHeight - kBottom});
    add(svg, {.x = x, .y = kHeight - kBottom + 18, .anchor = "middle", .text = number(tick)});
  }
  for (const double tick : round_ticks(frame.y_least, frame.y_most, kTicks)) {
    const double y = frame.y(tick);
    add_rule(svg, {kLeft, y}, {kWidth - kRight, y});
    add(svg, {.x = kLeft - 8, .y = y + 4, .anchor = "end", .text = number(tick)});
  }
  add(svg, {.x = kWidth / 2, .y = kHeight - 20, .anchor = "middle", .text = plot.x_label});
  add(svg, {.x = 10, .y = kTop - 8, .anchor = "start", .text = plot.y_label});
  add(svg, {.x = kWidth / 2, .y = 18, .anchor = "middle", .text = plot.title});
}

void add_line(std::string& svg, const Line& line, const Frame& frame, std::string_view colour) {
  std::string path;
  bool is_broken = true;
  for (const Point& point : line.points) {
    if (is_finite(point)) {
      path.append(is_broken ? "M" : "L").append(number(frame.x(point.x))).append(" ");
      path.append(number(frame.y(point.y)));
    }
    is_broken = !is_finite(point);
  }
  svg.append("<path fill=\"none\" stroke-width=\"1.5\" stroke=\"").append(colour);
  svg.append("\" d=\"").append(path).append("\"/>\n");
}

}  // namespace

std::vector<double> round_ticks(double least, double most, int count) {
  const double rough = (most - least) / count;
  if (!(rough > 0) || !std::isfinite(rough)) return {least};
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough) step = factor * power;
  }
  std::vector<double> ticks;
  // Counted, not added up: 0.1 is no number of a machine.
  const double first = std::ceil(least / step - 1e-9);
  for (double i = first; i * step <= most + step * 1e-9; i += 1) ticks.push_back(i * step);
  return ticks;
}

std::string to_svg(const Plot& plot) {
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(kWidth);
  svg.append(" ").append(number(kHeight)).append("\" font-family=\"sans-serif\"");
  svg.append(" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
  const Frame frame = frame_of(plot);
  add_axes(svg, plot, frame);
  for (std::size_t i = 0; i < plot.lines.size(); ++i) {
    const std::string_view colour = kColours[i % kColours.size()];
    add_line(svg, plot.lines[i], frame, colour);
    const double y = kTop + 16 * static_cast<double>(i + 1);
    svg.append("<g fill=\"").append(colour).append("\">");
    add(svg, {.x = kWidth - kRight - 8, .y = y, .anchor = "end", .text = plot.lines[i].name});
    svg.append("</g>\n");
  }
  return svg + "</svg>\n";
}

}  // namespace berth::train
