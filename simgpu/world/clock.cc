// SPDX-License-Identifier: Apache-2.0
#include "simgpu/world/clock.h"

#include <cstdio>
#include <ctime>
#include <string>

#include "os/files.h"

namespace berth::simgpu {
namespace {

// What our time namespace adds, of a line such as "boottime 100000 0".
std::int64_t namespace_offset_ns() {
  const Result<std::string> text = os::read_file("/proc/self/timens_offsets", 1024);
  const std::size_t line = text.ok() ? text->find("boottime") : std::string::npos;
  long long seconds = 0;
  long long rest_ns = 0;
  if (line == std::string::npos ||
      std::sscanf(text->c_str() + line, "boottime %lld %lld", &seconds, &rest_ns) != 2)
    return 0;
  return seconds * 1'000'000'000 + rest_ns;
}

}  // namespace

std::int64_t now_ns() {
  static const std::int64_t offset_ns = namespace_offset_ns();
  timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec - offset_ns;
}

}  // namespace berth::simgpu
