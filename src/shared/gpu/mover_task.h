// SPDX-License-Identifier: Apache-2.0
// Task of one berth-mover, which it reads from its standard input: never on its command line, which
// everybody reads, because a lease's directory has its handle for a name. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/transfer.h"

namespace berth::gpu {

struct MoverTask {
  std::string directory;  // Of the lease; a lock in it is held meanwhile.
  LeaseId lease;
  /// Whose lease it is: what they could not signal is left alone. Nobody's, if not said.
  UserId user = {~0U};
  Direction direction = Direction::kSwapOut;
  Bytes bytes;
  std::optional<Process> supervisor;
  bool measure = false;  // What leaves.
  std::vector<DevicePair> pairs;
  std::vector<Process> processes;
};

/// More is no task.
inline constexpr std::size_t kMoverTaskMax = 1U << 20U;
std::string encode_mover_task(const MoverTask& task);
/// Whether nothing follows what was read.
bool is_whole_mover_task(std::string_view text);
/// Absent: it makes no sense.
std::optional<MoverTask> decode_mover_task(std::string_view text);

}  // namespace berth::gpu
