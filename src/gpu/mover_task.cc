// SPDX-License-Identifier: Apache-2.0
#include "gpu/mover_task.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>

namespace berth::gpu {
namespace {

constexpr std::array<std::string_view, 4> kDirections = {"out", "back", "stop", "go"};

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

std::string text_of(const Process& process) {
  return std::to_string(process.pid) + ":" + std::to_string(process.start_ticks);
}

std::optional<Process> parse_process(std::string_view text) {
  const std::size_t colon = text.find(':');
  Process process;
  const bool sound = colon != std::string_view::npos &&
                     read_number(text.substr(0, colon), process.pid) &&
                     read_number(text.substr(colon + 1), process.start_ticks);
  return sound ? std::optional(process) : std::nullopt;
}

}  // namespace

// DIRECTORY out|back|stop|go BYTES SUPERVISOR|- PROCESS...; a process is PID:START.
std::vector<std::string> mover_arguments(const MoverTask& task) {
  std::vector<std::string> words = {
      task.directory, std::string(kDirections[static_cast<std::size_t>(task.direction)]),
      std::to_string(task.bytes.value), task.supervisor ? text_of(*task.supervisor) : "-"};
  for (const Process& process : task.processes) words.push_back(text_of(process));
  return words;
}

std::optional<MoverTask> parse_mover_arguments(std::span<char* const> arguments) {
  if (arguments.size() < 4) return std::nullopt;
  MoverTask task{.directory = arguments[0]};
  const auto direction = std::ranges::find(kDirections, std::string_view(arguments[1]));
  if (direction == kDirections.end() || !read_number(arguments[2], task.bytes.value)) {
    return std::nullopt;
  }
  task.direction = static_cast<Direction>(direction - kDirections.begin());
  if (std::string_view(arguments[3]) != "-") {
    task.supervisor = parse_process(arguments[3]);
    if (!task.supervisor) return std::nullopt;
  }
  for (const char* word : arguments.subspan(4)) {
    const std::optional<Process> process = parse_process(word);
    if (!process) return std::nullopt;
    task.processes.push_back(*process);
  }
  return task;
}

}  // namespace berth::gpu
