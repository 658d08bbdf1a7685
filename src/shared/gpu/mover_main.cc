// SPDX-License-Identifier: Apache-2.0
// berth-mover: reads its task (mover_task.h) from standard input, moves the device memory of
// processes to the host, or back, or stops them and lets them go on, and says in one line what came
// of it. A process of its own, because a driver may hang for ever in any call. The daemon starts
// one for each move, and it ends with the daemon. A lock is held meanwhile: one that a next daemon
// starts waits until this one is gone from the call of the driver in which it was.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/checkpoint_calls.h"
#include "gpu/freezing.h"
#include "gpu/mover.h"
#include "gpu/mover_task.h"
#include "gpu/use_of.h"
#include "os/processes.h"

namespace berth::gpu {
namespace {

constexpr int kUsage = 64;
constexpr int kNotHeld = 71;

/// Pids of those that are another user's by now, which are taken from the task.
std::vector<std::int32_t> take_out_others(MoverTask& task) {
  std::vector<std::int32_t> pids;
  std::erase_if(task.processes, [&](const Process& process) {
    const Status may = os::check_may_signal(task.user, process);
    if (may.ok()) return false;
    if (may.error().code == Errc::kPermission) pids.push_back(process.pid);
    return true;
  });
  return pids;
}

TransferResult move(MoverTask task) {
  Tree tree{.supervisor = task.supervisor, .roots = task.processes, .user = task.user};
  if (task.direction == Direction::kFreeze) return stop_all(tree);
  if (task.direction == Direction::kThaw) {
    tree.lease = std::filesystem::path(task.directory).filename();
    tree.number = task.lease;
    return let_all_go_on(tree);
  }
  const bool out = task.direction == Direction::kSwapOut;
  std::vector<std::int32_t> left_alone = take_out_others(task);
  if (out && task.processes.empty() && !left_alone.empty()) return others_alone(left_alone[0]);
  const auto calls = load_checkpoint_calls("libcuda.so.1");
  if (!calls.ok()) {
    return {.outcome = out ? TransferResult::Outcome::kUndone : TransferResult::Outcome::kStuck,
            .trouble = calls.error().message};
  }
  // A stopped process does not serve the driver.
  const RunningMeanwhile running(tree);
  const Measure measure =
      task.measure ? Measure([](auto pids) { return use_of(pids); }) : Measure();
  TransferResult result = out ? move_out(**calls, task.processes, task.bytes, {}, measure)
                              : move_back(**calls, task.processes, task.pairs);
  if (result.outcome != TransferResult::Outcome::kDone && !left_alone.empty()) {
    result.trouble += "; " + others_alone(left_alone[0]).trouble;
  }
  result.left_alone = std::move(left_alone);
  return result;
}

/// Up to its end, or to that of the input.
std::string read_task() {
  std::string text;
  std::array<char, 4'096> piece{};
  while (!is_whole_mover_task(text) && text.size() <= kMoverTaskMax) {
    const ssize_t count = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
  return text;
}

/// On a file of the daemon's alone: what the lease's user can open, they could lock for ever.
/// False: the process that started this is gone, or the lock cannot be taken.
bool holds(const std::string& directory) {
  char byte = 0;
  const bool orphan = ::recv(STDIN_FILENO, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  if (orphan) return false;
  const std::string lock = directory + "/moving";
  const int held = ::open(lock.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  return held >= 0 && ::flock(held, LOCK_EX) == 0;
}

int run() {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::optional<MoverTask> task = decode_mover_task(read_task());
  if (!task) return kUsage;
  if (!holds(task->directory)) return kNotHeld;
  const std::string line = encode(move(*task));
  (void)!::write(STDOUT_FILENO, line.data(), line.size());
  // The driver is not shut down: what hangs in there must not keep this process.
  ::_exit(0);
}

}  // namespace
}  // namespace berth::gpu

int main() {
  return berth::gpu::run();
}
