// SPDX-License-Identifier: Apache-2.0
#include "os/host_memory.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "os/files.h"

namespace berth::os {
namespace {

constexpr std::size_t kFileMax = 64U << 10U;
constexpr std::string_view kRoot = "/sys/fs/cgroup";

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  return number;
}

/// "max", which is no number, is no bound.
std::optional<std::uint64_t> number_at(const std::string& path) {
  const Result<std::string> text = read_file(path, kFileMax);
  return text.ok() ? number_in(*text) : std::nullopt;
}

}  // namespace

std::optional<Bytes> available_in(std::string_view meminfo) {
  constexpr std::string_view kName = "MemAvailable:";
  const std::size_t at = meminfo.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  meminfo.remove_prefix(at + kName.size());
  meminfo.remove_prefix(std::min(meminfo.find_first_not_of(' '), meminfo.size()));
  const auto kilobytes = number_in(meminfo);
  if (!kilobytes) return std::nullopt;
  return Bytes{*kilobytes * 1024};
}

std::string_view group_in(std::string_view cgroup) {
  while (!cgroup.empty()) {
    const std::string_view line = cgroup.substr(0, cgroup.find('\n'));
    if (line.starts_with("0::")) return line.substr(3);
    cgroup.remove_prefix(std::min(line.size() + 1, cgroup.size()));
  }
  return {};
}

std::optional<Bytes> host_memory_left(std::int32_t pid) {
  const Result<std::string> meminfo = read_file("/proc/meminfo", kFileMax);
  std::optional<Bytes> left = meminfo.ok() ? available_in(*meminfo) : std::nullopt;
  const Result<std::string> text = read_file("/proc/" + std::to_string(pid) + "/cgroup", kFileMax);
  std::string group(text.ok() ? group_in(*text) : std::string_view());
  while (group.size() > 1) {
    const std::string directory = std::string(kRoot) + group;
    const auto most = number_at(directory + "/memory.max");
    const auto used = number_at(directory + "/memory.current");
    if (most && used) {
      const Bytes here = saturating_sub(Bytes{*most}, Bytes{*used});
      left = std::min(left.value_or(here), here);
    }
    group.resize(group.rfind('/'));
  }
  return left;
}

}  // namespace berth::os
