// SPDX-License-Identifier: Apache-2.0
#include "cli/render/status.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/quantity.h"
#include "cli/render/leases.h"
#include "cli/render/phrases.h"
#include "cli/render/table.h"
#include "cli/render/why.h"

namespace berth::cli {
namespace {

constexpr std::size_t kBarCells = 14;
constexpr std::size_t kQueueShown = 5;  // By `status`; `berth queue` shows all.
constexpr std::size_t kReasonIndent = 6;
constexpr std::size_t kBusyColumn = 4;  // Of devices.
constexpr std::size_t kHeatColumn = 5;
constexpr Duration kSampleOld = seconds(5);

std::size_t cells_of(Bytes part, Bytes whole) {
  const double share = static_cast<double>(part.value) / static_cast<double>(whole.value);
  const auto cells = static_cast<std::size_t>(std::lround(share * static_cast<double>(kBarCells)));
  return std::min(cells, kBarCells);
}

// What is used, what is promised beyond that, what could be granted.
std::string bar_of(const DeviceView& device, const RenderContext& context) {
  const Glyphs& glyphs = glyphs_of(context.charset);
  if (!device.capacity || device.capacity->value == 0) return {};
  const std::size_t used = cells_of(device.used.value_or(Bytes{}), *device.capacity);
  const std::size_t taken = cells_of(device.held_back + device.charged, *device.capacity);
  std::string text(glyphs.bar_begin);
  for (std::size_t i = 0; i < kBarCells; ++i) {
    text += i < used ? glyphs.bar_used : i < taken ? glyphs.bar_granted : glyphs.bar_free;
  }
  return text.append(glyphs.bar_end);
}

std::string lack_text(Pressure pressure, std::string_view before) {
  if (pressure == Pressure::kNormal) return {};
  return std::string(before) +
         (pressure == Pressure::kCritical ? "leases lack memory" : "leases may lack memory");
}

Cell health_of(const DeviceView& device, const RenderContext& context) {
  Cell cell{"healthy", Colour::kGreen};
  if (device.lost) {
    cell = {"lost", Colour::kRed};
  } else if (device.overcommitted) {
    cell = {"overcommitted" + lack_text(device.pressure, ": "), Colour::kRed};
  } else if (device.asleep) {
    cell = {"asleep", Colour::kDim};
  } else if (!device.trouble.empty()) {
    cell = {"trouble", Colour::kRed};
  } else if (!device.sample_age) {
    cell = {"not asked yet", Colour::kYellow};
  } else if (device.pressure != Pressure::kNormal) {
    const bool critical = device.pressure == Pressure::kCritical;
    cell = {lack_text(device.pressure, ""), critical ? Colour::kRed : Colour::kYellow};
  } else if (*device.sample_age > kSampleOld) {
    cell = {"figures " + to_text(*device.sample_age) + " old", Colour::kYellow};
  }
  if (context.simulated) cell.text += ", simulated";
  return cell;
}

std::string busy_text(const DeviceView& device) {
  const std::optional<std::uint32_t> percent = device.figures.gpu_utilization;
  return percent ? std::to_string(*percent) + " % busy" : "";
}

// "61 °C, 238 W", as far as it is known.
std::string heat_text(const DeviceView& device, const RenderContext& context) {
  constexpr std::uint32_t kMilliwattsInAWatt = 1'000;
  const DeviceFigures& figures = device.figures;
  std::string text;
  if (figures.temperature) {
    text = std::to_string(*figures.temperature) + (context.charset.unicode ? " °C" : " C");
  }
  if (figures.power_milliwatts) {
    text += (text.empty() ? "" : ", ") +
            std::to_string(*figures.power_milliwatts / kMilliwattsInAWatt) + " W";
  }
  return text;
}

std::vector<Cell> row_of(const DeviceView& device, const RenderContext& context) {
  const std::string unit = device.capacity ? " GiB" : "";
  return {
      {"GPU " + std::to_string(device.index), Colour::kBold},
      {escape_control(device.model, context.charset)},
      {bar_of(device, context)},
      {in_gib(device.used, context) + " / " + in_gib(device.capacity, context) + unit},
      {busy_text(device)},
      {heat_text(device, context)},
      {"granted " + in_gib(device.granted, context) + " GiB"},
      {"grantable " + in_gib(device.grantable, context) + " GiB"},
      health_of(device, context),
  };
}

std::vector<Cell> row_of(const Waiting& waiting, const RenderContext& context) {
  const LeaseView& lease = waiting.lease;
  return {
      {to_text(lease.id), Colour::kBold},
      {session_of(lease, context)},
      {asked_by(lease.request)},
      {age_text(lease.waited)},
  };
}

std::string reason_of(const Waiting& waiting, const RenderContext& context) {
  return waiting.why ? short_reason(*waiting.why, context) : std::string();
}

void add_reasons(Table& table, std::span<const Waiting> queue, const RenderContext& context) {
  table.columns.push_back({});
  for (std::size_t i = 0; i < queue.size(); ++i) {
    table.rows[i].push_back({reason_of(queue[i], context)});
  }
}

// Where there is room for it.
void add_hints(Table& table, std::span<const Waiting> queue) {
  table.columns.push_back({.importance = 0});
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const std::string id = to_text(queue[i].lease.id);
    table.rows[i].push_back({"[berth why " + id + "]", Colour::kDim});
  }
}

// `lines`: one each. A reason is what the list is looked at for: it is not cut.
std::string with_reasons_below(std::string_view lines, std::span<const Waiting> queue,
                               const RenderContext& context, std::size_t width) {
  std::string text;
  for (const Waiting& waiting : queue) {
    const std::size_t size = lines.find('\n') + 1;
    text += lines.substr(0, size);
    lines.remove_prefix(size);
    text += wrapped(reason_of(waiting, context), kReasonIndent, width);
  }
  return text;
}

std::string leases_section(const StatusFacts& facts, const RenderContext& context) {
  Table table = lease_table(facts.leases, facts.devices, Detail::kTable, context);
  if (table.rows.empty()) return "No leases.  berth run -m 8G -- COMMAND starts one.\n";
  table.indent = 2;
  return render(std::move(table), context.width, context.charset);
}

std::string queue_section(std::span<const Waiting> queue, const RenderContext& context) {
  if (queue.empty()) return {};
  const std::size_t shown = std::min(queue.size(), kQueueShown);
  std::string text = "Queue (" + std::to_string(queue.size()) + ")\n";
  text += queue_lines(queue.first(shown), context);
  if (shown < queue.size()) {
    text += "  and " + std::to_string(queue.size() - shown) + " more  [berth queue]\n";
  }
  return text;
}

}  // namespace

std::string device_lines(std::span<const DeviceView> devices, const RenderContext& context) {
  constexpr auto kRight = Column::Align::kRight;
  Table table{
      .columns = {{},
                  {.shrinks_to = 12, .importance = 5},
                  {.importance = 2},
                  {.align = kRight},
                  {.align = kRight, .importance = 1},
                  {.align = kRight, .importance = 0},
                  {.importance = 3},
                  {.importance = 6},
                  {}},
      .header = false,
  };
  std::string troubles;
  for (const DeviceView& device : devices) {
    table.rows.push_back(row_of(device, context));
    if (device.trouble.empty()) continue;
    troubles += "  GPU " + std::to_string(device.index) + ": " +
                escape_control(device.trouble, context.charset) + "\n";
  }
  drop_if_empty(table, kHeatColumn);
  drop_if_empty(table, kBusyColumn);
  return render(std::move(table), context.width, context.charset) + troubles;
}

std::string queue_lines(std::span<const Waiting> queue, const RenderContext& context, Hints hints) {
  constexpr auto kRight = Column::Align::kRight;
  Table table{
      .columns = {{.align = kRight},
                  {.shrinks_to = 10, .shrinks_after = 3, .cut = Column::Cut::kName},
                  {.shrinks_to = 8, .importance = 6, .shrinks_after = 6},
                  {.align = kRight, .importance = 4}},
      .indent = 2,
      .header = false,
  };
  for (const Waiting& waiting : queue) table.rows.push_back(row_of(waiting, context));
  Table in_one = table;
  add_reasons(in_one, queue, context);
  if (context.width && width_of(in_one) > *context.width) {
    const std::string lines = render(std::move(table), context.width, context.charset);
    return with_reasons_below(lines, queue, context, *context.width);
  }
  if (hints == Hints::kShown) add_hints(in_one, queue);
  return render(std::move(in_one), context.width, context.charset);
}

std::string status_text(const StatusFacts& facts, const RenderContext& context) {
  std::string text = device_lines(facts.devices, context);
  if (!facts.trouble.empty()) {
    const std::string sentence = escape_control(facts.trouble, context.charset);
    text += painted(sentence, Colour::kRed, context.charset) + "\n";
  }
  return text + leases_section(facts, context) + queue_section(facts.queue, context);
}

}  // namespace berth::cli
