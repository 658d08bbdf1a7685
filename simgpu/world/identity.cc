// SPDX-License-Identifier: Apache-2.0
#include "simgpu/world/identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "os/processes.h"

namespace berth::simgpu {

namespace {

// As /proc numbers us, which may be that of a PID namespace around ours.
std::int32_t own_pid() {
  std::array<char, 16> text{};
  const ssize_t length = ::readlink("/proc/self", text.data(), text.size() - 1);
  return length > 0 ? static_cast<std::int32_t>(std::strtol(text.data(), nullptr, 10)) : 0;
}

std::uint64_t inode_of(const char* path) {
  struct stat found{};
  return ::stat(path, &found) == 0 ? found.st_ino : 0;
}

}  // namespace

Identity own_identity() {
  const Result<os::ProcessState> state = os::process_state(own_pid());
  if (!state.ok()) return 0;
  const std::uint64_t own = inode_of("/proc/self/ns/pid") + inode_of("/proc/self/ns/time") * 16;
  return static_cast<Identity>(state->process.pid) << 42U | (own & 0xffU) << 34U |
         (state->process.start_ticks & ((std::uint64_t{1} << 34U) - 1));
}

bool is_alive(Identity identity) {
  return os::is_alive({.pid = pid_of(identity), .start_ticks = start_of(identity)});
}

}  // namespace berth::simgpu
