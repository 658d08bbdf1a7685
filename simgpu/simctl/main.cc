// SPDX-License-Identifier: Apache-2.0
// berth-simctl sets faults of a simulated driver and shows what it counts (docs/simulated-gpu.md).
// Exit: 0 done; 1 it cannot be; 64 wrong usage; 69 no such world.
#include <sys/file.h>

#include <cstdio>
#include <string>
#include <vector>

#include "os/files.h"
#include "simgpu/simctl/commands.h"

namespace {

int fail(int code, const std::string& why) {
  (void)std::fprintf(stderr, "berth-simctl: %s\n", why.c_str());
  return code;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    (void)std::fputs(berth::simgpu::simctl_help().c_str(), words.empty() ? stderr : stdout);
    return words.empty() ? 64 : 0;
  }
  auto world = berth::simgpu::World::open_from_environment();
  if (!world.ok()) return fail(69, world.error().message);
  // Unmanaged processes have one slot of the accounts, which one process at a time may use.
  const auto lock = berth::os::FileLock::wait(world->path() + ".simctl");
  if (!lock.ok()) return fail(1, lock.error().message);
  const auto shown = berth::simgpu::run_simctl(*world, words);
  if (!shown.ok())
    return fail(shown.error().code == berth::Errc::kInvalid ? 64 : 1, shown.error().message);
  (void)std::fputs(shown->c_str(), stdout);
  return 0;
}
