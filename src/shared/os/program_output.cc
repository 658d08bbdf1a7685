// SPDX-License-Identifier: Apache-2.0
#include "os/program_output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include "os/clock.h"
#include "os/errors.h"
#include "os/unique_fd.h"

namespace berth::os {
namespace {

// False: the time is over.
bool is_readable(int fd, Instant until) {
  if (until == Instant::never()) return true;
  const std::int64_t left_ms = (until - PosixClock().now()).ns / milliseconds(1).ns;
  pollfd wanted{fd, POLLIN, 0};
  return left_ms > 0 && ::poll(&wanted, 1, static_cast<int>(left_ms)) != 0;
}

// False: it has not closed its stdout in time.
bool read_all(int fd, std::size_t bytes_max, Instant until, std::string& text) {
  std::array<char, 256> part{};
  while (is_readable(fd, until)) {
    const ssize_t count = ::read(fd, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    text.append(part.data(), std::min(static_cast<std::size_t>(count), bytes_max - text.size()));
  }
  return false;
}

}  // namespace

Result<ProgramOutput> output_of(SpawnPlan plan, const OutputBounds& bounds) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  plan.standard[1] = writer.get();
  TRY(pid, spawn(plan));
  writer = UniqueFd();
  const bool is_bounded = bounds.within > Duration{};
  const Instant until = is_bounded ? PosixClock().now() + bounds.within : Instant::never();
  ProgramOutput output;
  if (!read_all(reader.get(), bounds.bytes_max, until, output.text)) ::kill(pid, SIGKILL);
  while (::waitpid(pid, &output.status, 0) < 0 && errno == EINTR) {
  }
  return output;
}

}  // namespace berth::os
