// SPDX-License-Identifier: Apache-2.0
#include "gpu/mover_task.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "base/number.h"

namespace berth::gpu {
namespace {

constexpr std::string_view kMeasure = "measure";
constexpr std::array<std::string_view, 4> kDirections = {"out", "back", "stop", "go"};

std::string text_of(const Process& process) {
  return std::to_string(process.pid) + ":" + std::to_string(process.start_ticks);
}

std::optional<Process> parse_process(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto pid = parse_number<std::int32_t>(text.substr(0, colon));
  const auto start = parse_number<std::uint64_t>(text.substr(colon + 1));
  if (!pid || !start) return std::nullopt;
  return Process{.pid = *pid, .start_ticks = *start};
}

std::optional<DevicePair> parse_pair(std::string_view text) {
  const std::size_t equals = text.find('=');
  const auto from = parse_device_id(text.substr(0, equals));
  const auto to = parse_device_id(text.substr(equals + 1));
  if (!from || !to) return std::nullopt;
  return DevicePair{.from = *from, .to = *to};
}

}  // namespace

// DIRECTORY LEASE out|back|stop|go BYTES SUPERVISOR|- [measure] FROM=TO... PROCESS...; a process is
// PID:START, and devices are named as the driver does.
std::vector<std::string> mover_arguments(const MoverTask& task) {
  std::vector<std::string> words = {
      task.directory, std::to_string(task.lease.value),
      std::string(kDirections[static_cast<std::size_t>(task.direction)]),
      std::to_string(task.bytes.value), task.supervisor ? text_of(*task.supervisor) : "-"};
  if (task.measure) words.emplace_back(kMeasure);
  for (const DevicePair& pair : task.pairs) {
    words.push_back(to_text(pair.from) + "=" + to_text(pair.to));
  }
  for (const Process& process : task.processes) words.push_back(text_of(process));
  return words;
}

std::optional<MoverTask> parse_mover_arguments(std::span<char* const> arguments) {
  if (arguments.size() < 5) return std::nullopt;
  MoverTask task{.directory = arguments[0]};
  const auto lease = parse_number<std::uint64_t>(arguments[1]);
  const auto direction = std::ranges::find(kDirections, std::string_view(arguments[2]));
  const auto bytes = parse_number<std::uint64_t>(arguments[3]);
  if (!lease || direction == kDirections.end() || !bytes) return std::nullopt;
  task.lease = {*lease};
  task.bytes = {*bytes};
  task.direction = static_cast<Direction>(direction - kDirections.begin());
  if (std::string_view(arguments[4]) != "-") {
    task.supervisor = parse_process(arguments[4]);
    if (!task.supervisor) return std::nullopt;
  }
  for (const std::string_view word : arguments.subspan(5)) {
    if (word == kMeasure) {
      task.measure = true;
      continue;
    }
    if (word.find('=') != std::string_view::npos) {
      const std::optional<DevicePair> pair = parse_pair(word);
      if (!pair) return std::nullopt;
      task.pairs.push_back(*pair);
      continue;
    }
    const std::optional<Process> process = parse_process(word);
    if (!process) return std::nullopt;
    task.processes.push_back(*process);
  }
  return task;
}

}  // namespace berth::gpu
