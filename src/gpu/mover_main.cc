// SPDX-License-Identifier: Apache-2.0
// berth-mover DIRECTORY out|back BYTES PID...: moves the device memory of these processes to the
// host, or back, and says in one line what came of it. A process of its own, because a driver may
// hang for ever in any call. The daemon starts one for each move, and it ends with the daemon; the
// directory, of the lease, is held meanwhile: one that a next daemon starts waits until this one is
// gone from the call of the driver in which it was.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/checkpoint_calls.h"
#include "gpu/mover.h"

namespace berth::gpu {
namespace {

constexpr int kUsage = 64;
constexpr int kNotHeld = 71;

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

MoveResult move(bool out, Bytes bytes, std::span<const Process> processes) {
  const auto calls = load_checkpoint_calls("libcuda.so.1");
  if (!calls.ok()) {
    return {.outcome = out ? MoveResult::Outcome::kUndone : MoveResult::Outcome::kStuck,
            .trouble = calls.error().message};
  }
  return out ? move_out(**calls, processes, bytes) : move_back(**calls, processes);
}

/// False: whoever started this is gone, or the directory cannot be held.
bool holds(const char* directory) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  char byte = 0;
  const bool orphan = ::recv(STDIN_FILENO, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  if (orphan) return false;
  const int held = ::open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return held >= 0 && ::flock(held, LOCK_EX) == 0;
}

int run(std::span<char* const> arguments) {
  if (arguments.size() < 4) return kUsage;
  const std::string_view direction = arguments[2];
  Bytes bytes;
  if ((direction != "out" && direction != "back") || !read_number(arguments[3], bytes.value)) {
    return kUsage;
  }
  if (!holds(arguments[1])) return kNotHeld;
  std::vector<Process> processes;
  for (const char* text : arguments.subspan(4)) {
    if (!read_number(text, processes.emplace_back().pid)) return kUsage;
  }
  const std::string line = encode(move(direction == "out", bytes, processes));
  (void)!::write(STDOUT_FILENO, line.data(), line.size());
  // The driver is not shut down: what hangs in there must not keep this process.
  ::_exit(0);
}

}  // namespace
}  // namespace berth::gpu

int main(int count, char** arguments) {
  return berth::gpu::run({arguments, static_cast<std::size_t>(count)});
}
