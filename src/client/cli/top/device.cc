// SPDX-License-Identifier: Apache-2.0
#include "cli/top/device.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/quantity.h"
#include "cli/render/phrases.h"

namespace berth::cli::top {
namespace {

constexpr std::size_t kFlatBar = 40;  // Columns that a name and a bar have at least.
constexpr std::uint32_t kMilliwattsInAWatt = 1'000;
constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 8> kAsciiBlocks = {"_", ".", ":", "-", "=", "+", "*", "#"};

}  // namespace

DevicePainter::DevicePainter(const State& state, const Look& look, Canvas& canvas)
    : state_(state),
      known_(state.shown()),
      look_(look),
      signs_(signs_of(look.context.charset)),
      canvas_(canvas) {
  std::size_t rank = 0;
  for (const auto& [id, lease] : known_.leases) {
    if (lease.state != LeaseState::kWaiting) hues_[id] = rank++ % kHues;
  }
}

std::size_t DevicePainter::tall(const DeviceView& device, std::size_t row, bool with_course) {
  constexpr std::size_t kFreeColumns = 24;  // "123.4 GiB free to grant"
  facts(device, row++);
  bar(device, row, {.left = 1, .right = canvas_.width() - kFreeColumns});
  canvas_.put_before(row++, canvas_.width() - 1,
                     in_gib(device.grantable, look_.context) + " GiB free to grant",
                     device.grantable > Bytes{} ? Style::kBold : Style::kDim);
  if (with_course) courses(device, row++);
  return row;
}

/// As much as fits: the first is what is asked for most.
std::string DevicePainter::vitals(const DeviceView& device, std::size_t columns) const {
  const DeviceFigures& figures = device.figures;
  if (device.lost) return "does not answer";
  if (device.asleep) return "asleep";
  std::string text;
  const auto add = [&](const std::string& part) {
    const std::string longer = text + (text.empty() ? "" : "  ") + part;
    if (columns_of(longer) <= columns) text = longer;
  };
  if (figures.throttle && *figures.throttle != Throttle::kNone) {
    add("throttled: " + std::string(to_text(*figures.throttle)));
  }
  if (figures.gpu_utilization) add(std::to_string(*figures.gpu_utilization) + " % busy");
  if (figures.temperature) {
    add(std::to_string(*figures.temperature) + std::string(signs_.degrees));
  }
  const auto watts = [](std::uint32_t milliwatts) {
    return std::to_string(milliwatts / kMilliwattsInAWatt);
  };
  if (!figures.power_milliwatts) return text;
  const std::string before = text;
  const std::string drawn = watts(*figures.power_milliwatts);
  if (figures.power_limit_milliwatts) {
    add(drawn + " of " + watts(*figures.power_limit_milliwatts) + " W");
  }
  if (text == before) add(drawn + " W");
  return text;
}

// The header says that it is simulated.
std::string DevicePainter::model_of(const DeviceView& device) const {
  constexpr std::string_view kSimulated = " (simulated)";
  std::string model = escape_control(device.model, look_.context.charset);
  if (model.ends_with(kSimulated)) model.resize(model.size() - kSimulated.size());
  return model;
}

void DevicePainter::facts(const DeviceView& device, std::size_t row) {
  const RenderContext& context = look_.context;
  const std::string right = "used " + in_gib(device.used, context) + "  granted " +
                            in_gib(device.granted, context) + " of " +
                            in_gib(device.capacity, context) + " GiB ";
  const std::size_t end = canvas_.width() - columns_of(right) - 2;
  std::size_t column = canvas_.put(row, 1, "GPU " + std::to_string(device.index), Style::kBold);
  column = canvas_.put(row, column + 2, model_of(device), Style::kPlain, end);
  const Style style = device.lost ? Style::kBad : Style::kDim;
  const std::size_t room = end > column + 2 ? end - column - 2 : 0;
  canvas_.put(row, column + 2, vitals(device, room), style, end);
  canvas_.put_before(row, canvas_.width(), right);
}

void DevicePainter::flat(const DeviceView& device, std::size_t row) {
  const RenderContext& context = look_.context;
  const std::string right = in_gib(device.used, context) + " / " +
                            in_gib(device.capacity, context) + " GiB  " +
                            in_gib(device.grantable, context) + " free ";
  const std::string name = "GPU " + std::to_string(device.index);
  canvas_.put(row, 1, name, Style::kBold);
  std::size_t end = canvas_.put_before(row, canvas_.width(), right);
  const std::string busy = vitals(device, end > kFlatBar ? end - kFlatBar : 0);
  if (!busy.empty()) end = canvas_.put_before(row, end - 2, busy, Style::kDim);
  bar(device, row, {.left = name.size() + 2, .right = end - 2});
}

// In the order of grant: what a lease uses and what it has beside that, what others use, what is
// kept, and what is free.
void DevicePainter::bar(const DeviceView& device, std::size_t row, const Area& area) {
  canvas_.put(row, area.left, signs_.begin, Style::kDim);
  canvas_.put(row, area.right - 1, signs_.end, Style::kDim);
  const std::size_t cells = area.columns() - 2;
  const double whole = static_cast<double>(device.capacity.value_or(Bytes{}).value);
  if (whole == 0 || device.lost) return;
  double sum = 0;
  std::size_t column = 0;
  const auto add = [&](Bytes bytes, std::string_view sign, Style style) {
    sum += static_cast<double>(bytes.value);
    const double share = std::min(sum / whole, 1.0) * static_cast<double>(cells);
    const auto until = static_cast<std::size_t>(std::lround(share));
    for (; column < until; ++column) canvas_.put(row, area.left + 1 + column, sign, style);
  };
  for (const LeaseId id : device.leases) {
    const auto lease = known_.leases.find(id);
    if (lease == known_.leases.end()) continue;
    for (const LeasePart& part : lease->second.parts) {
      if (part.device != device.id) continue;
      const Bytes used = part.used.value_or(Bytes{});
      add(used, signs_.used, hue(id));
      add(saturating_sub(part.granted, used), signs_.unused, hue(id));
    }
  }
  const Bytes unmanaged = device.unmanaged.value_or(Bytes{});
  add(unmanaged, signs_.unmanaged, Style::kDim);
  add(saturating_sub(device.held_back, unmanaged), signs_.held_back, Style::kFaint);
  add(device.grantable, signs_.free, Style::kFaint);
}

Style DevicePainter::hue(LeaseId id) const {
  const auto found = hues_.find(id);
  const std::size_t number = found == hues_.end() ? 0 : found->second;
  return static_cast<Style>(static_cast<std::size_t>(Style::kHue0) + number);
}

void DevicePainter::courses(const DeviceView& device, std::size_t row) {
  const Course* course = state_.course(device.id);
  if (course == nullptr) return;
  const std::size_t half = (canvas_.width() - 4) / 2;
  const std::size_t column = canvas_.put(row, 1, "mem 1 h ", Style::kDim);
  line(course->used, device.capacity.value_or(Bytes{}).value, row, column, half);
  const std::size_t second = canvas_.put(row, half + 2, "busy ", Style::kDim);
  line(course->busy, 100, row, second, canvas_.width() - 2);
}

// The most of each step; what is unknown is a blank. The right end is now.
void DevicePainter::line(const std::deque<std::optional<std::uint64_t>>& values, std::uint64_t top,
                         std::size_t row, std::size_t from, std::size_t to) {
  if (to <= from || top == 0) return;
  const std::size_t cells = to - from;
  const std::size_t each = (kCourseSteps + cells - 1) / cells;
  const auto& blocks = look_.context.charset.unicode ? kBlocks : kAsciiBlocks;
  for (std::size_t cell = 0; cell < cells && cell * each < values.size(); ++cell) {
    std::optional<std::uint64_t> most;
    for (std::size_t i = cell * each; i < std::min((cell + 1) * each, values.size()); ++i) {
      most = std::max(most, values[values.size() - 1 - i]);
    }
    if (!most) continue;
    const double share = static_cast<double>(*most) / static_cast<double>(top);
    const auto level = static_cast<std::size_t>(share * static_cast<double>(blocks.size()));
    canvas_.put(row, to - 1 - cell, blocks[std::min(level, blocks.size() - 1)], Style::kDim);
  }
}

}  // namespace berth::cli::top
