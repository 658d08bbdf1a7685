// SPDX-License-Identifier: Apache-2.0
#include "replay/trace.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/number.h"
#include "core/limits.h"

namespace berth::replay {
namespace {

constexpr std::size_t kLineMax = 4'096;
constexpr std::size_t kColumnsMax = 64;
constexpr double kSecondsMax = 3.2e9;  // A hundred years.
constexpr int kWholeMilli = 1'000;
constexpr std::uint32_t kUsers = 16;   // By turns, where the trace names none.
constexpr double kNotScheduled = 600;  // Seconds that a task runs which never did.

/// By their names in the head.
struct Columns {
  std::optional<std::size_t> gpus, milli, qos, user, created, deleted, scheduled;
};

std::string_view without_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (cells.size() < kColumnsMax) {
    const std::size_t comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  return cells;
}

// Text of a file in a message: short, and without what a terminal would obey.
std::string shown(std::string_view cell) {
  std::string text(cell.substr(0, 40));
  std::ranges::replace_if(text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return "'" + text + "'";
}

Error at_line(std::size_t line, const std::string& what) {
  return {Errc::kCorrupt, "line " + std::to_string(line) + ": " + what};
}

Result<Columns> columns_of(std::string_view head) {
  Columns columns;
  const std::vector<std::string_view> names = cells_of(head);
  const auto find = [&](std::string_view name) -> std::optional<std::size_t> {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) return std::nullopt;
    return static_cast<std::size_t>(found - names.begin());
  };
  columns = {.gpus = find("num_gpu"),
             .milli = find("gpu_milli"),
             .qos = find("qos"),
             .user = find("user"),
             .created = find("creation_time"),
             .deleted = find("deletion_time"),
             .scheduled = find("scheduled_time")};
  const std::array needed = {
      std::pair("num_gpu", columns.gpus), std::pair("gpu_milli", columns.milli),
      std::pair("creation_time", columns.created), std::pair("deletion_time", columns.deleted),
      std::pair("scheduled_time", columns.scheduled)};
  for (const auto& [name, column] : needed) {
    if (column) continue;
    return at_line(1, "there is no column '" + std::string(name) +
                          "': a trace begins with a line that names its columns");
  }
  return columns;
}

Priority priority_of(std::string_view qos) {
  if (qos == "LS" || qos == "Guaranteed") return Priority::kHigh;
  return qos == "BE" ? Priority::kLow : Priority::kNormal;
}

Request request_of(std::uint32_t gpus, std::uint32_t milli, Bytes capacity) {
  Request request;
  request.device_count = gpus;
  if (gpus > 1 || milli >= kWholeMilli) {
    request.share = Share::kExclusive;
  } else {
    request.vram = {std::max<std::uint64_t>(capacity.value / kWholeMilli * milli, 1)};
  }
  return request;
}

/// One line of a trace.
class Row {
 public:
  Row(std::size_t line, std::vector<std::string_view> cells)
      : line_(line), cells_(std::move(cells)) {}

  std::string_view cell(std::optional<std::size_t> column) const {
    return column && *column < cells_.size() ? cells_[*column] : std::string_view();
  }
  Result<std::uint32_t> count(std::optional<std::size_t> column, std::string_view name,
                              std::uint32_t most) const {
    const auto number = parse_number<std::uint32_t>(cell(column));
    if (number && *number <= most) return *number;
    return wrong(column, name, "is no whole number from 0 to " + std::to_string(most));
  }
  Result<double> time(std::optional<std::size_t> column, std::string_view name) const {
    const auto number = parse_number<double>(cell(column));
    if (number && *number >= 0 && *number <= kSecondsMax) return *number;
    return wrong(column, name, "is no number of seconds");
  }
  Error error(const std::string& what) const { return at_line(line_, what); }

 private:
  Error wrong(std::optional<std::size_t> column, std::string_view name,
              const std::string& what) const {
    return error(std::string(name) + " " + shown(cell(column)) + " " + what +
                 ": mend the line, or take it out");
  }

  std::size_t line_;
  std::vector<std::string_view> cells_;
};

Duration duration_of(double seconds_known) {
  return {static_cast<std::int64_t>(seconds_known * 1e9)};
}

// Absent: it uses no GPU.
Result<std::optional<Task>> task_of(const Row& row, const Columns& columns, std::size_t number,
                                    Bytes capacity) {
  TRY(gpus, row.count(columns.gpus, "num_gpu", limits::kDevicesPerLease));
  TRY(milli, row.count(columns.milli, "gpu_milli", kWholeMilli));
  if (gpus == 0) return std::optional<Task>();
  TRY(created, row.time(columns.created, "creation_time"));
  double runs = kNotScheduled;
  if (!row.cell(columns.scheduled).empty()) {
    TRY(scheduled, row.time(columns.scheduled, "scheduled_time"));
    TRY(deleted, row.time(columns.deleted, "deletion_time"));
    if (deleted < scheduled) return row.error("deletion_time is before scheduled_time");
    runs = std::max(deleted - scheduled, 1.0);
  }
  UserId user{static_cast<std::uint32_t>(number) % kUsers};
  if (columns.user) {
    TRY(named, row.count(columns.user, "user", UINT32_MAX));
    user = {named};
  }
  Task task{.arrives = {duration_of(created).ns},
            .runs = duration_of(runs),
            .request = request_of(gpus, milli, capacity),
            .user = user};
  task.request.priority = priority_of(row.cell(columns.qos));
  return std::optional(std::move(task));
}

}  // namespace

Result<std::vector<Task>> parse_trace(std::string_view text, Bytes capacity) {
  std::vector<Task> tasks;
  Columns columns;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view row = without_return(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (row.size() > kLineMax) {
      return at_line(line, "it has more than " + std::to_string(kLineMax) + " bytes");
    }
    if (line == 1) {
      TRY(named, columns_of(row));
      columns = named;
      continue;
    }
    if (row.empty()) continue;
    if (tasks.size() == kTasksMax) {
      return at_line(
          line, "a trace has at most " + std::to_string(kTasksMax) + " tasks: give a part of it");
    }
    TRY(task, task_of(Row(line, cells_of(row)), columns, tasks.size(), capacity));
    if (task) tasks.push_back(*std::move(task));
  }
  if (tasks.empty()) return Error{Errc::kCorrupt, "no task in it uses a GPU"};
  std::ranges::stable_sort(tasks, {}, &Task::arrives);
  return tasks;
}

}  // namespace berth::replay
