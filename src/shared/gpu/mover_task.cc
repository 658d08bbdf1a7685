// SPDX-License-Identifier: Apache-2.0
#include "gpu/mover_task.h"

#include <cstddef>
#include <span>
#include <string_view>

#include "base/number.h"

namespace berth::gpu {
namespace {

constexpr std::string_view kEnd("\0\n", 2);  // No word begins with a line feed.
constexpr std::string_view kMeasure = "measure";
constexpr std::string_view kUser = "user=";

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

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = text.find('\0');
    words.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return words;
}

}  // namespace

// DIRECTORY LEASE out|back|stop|go BYTES SUPERVISOR|- user=UID [measure] FROM=TO... PROCESS...,
// each with a NUL after it, and a line feed; a process is PID:START, and devices are named as the
// driver does.
std::string encode_mover_task(const MoverTask& task) {
  std::string text;
  const auto add = [&](std::string_view word) { text.append(word) += '\0'; };
  add(task.directory);
  add(to_text(task.lease));
  add(to_text(task.direction));
  add(std::to_string(task.bytes.value));
  add(task.supervisor ? text_of(*task.supervisor) : "-");
  add(std::string(kUser) + std::to_string(task.user.value));
  if (task.measure) add(kMeasure);
  for (const DevicePair& pair : task.pairs) add(to_text(pair.from) + "=" + to_text(pair.to));
  for (const Process& process : task.processes) add(text_of(process));
  return text += '\n';
}

bool is_whole_mover_task(std::string_view text) {
  return text.ends_with(kEnd);
}

std::optional<MoverTask> decode_mover_task(std::string_view text) {
  if (!is_whole_mover_task(text)) return std::nullopt;
  const std::vector<std::string_view> words = words_of(text.substr(0, text.size() - 1));
  if (words.size() < 5 || words[0].empty()) return std::nullopt;
  MoverTask task{.directory = std::string(words[0])};
  const auto lease = parse_number<std::uint64_t>(words[1]);
  const std::optional<Direction> direction = parse_word<Direction>(words[2]);
  const auto bytes = parse_number<std::uint64_t>(words[3]);
  if (!lease || !direction || !bytes) return std::nullopt;
  task.lease = {*lease};
  task.bytes = {*bytes};
  task.direction = *direction;
  if (words[4] != "-") {
    task.supervisor = parse_process(words[4]);
    if (!task.supervisor) return std::nullopt;
  }
  for (const std::string_view word : std::span(words).subspan(5)) {
    if (word == kMeasure) {
      task.measure = true;
      continue;
    }
    if (word.starts_with(kUser)) {
      const auto user = parse_number<std::uint32_t>(word.substr(kUser.size()));
      if (!user) return std::nullopt;
      task.user = {*user};
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
