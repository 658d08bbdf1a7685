// SPDX-License-Identifier: Apache-2.0
// What one berth-mover is told on its command line. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/moving.h"

namespace berth::gpu {

struct MoverTask {
  std::string directory;  // Of the lease; it is held meanwhile.
  LeaseId lease;
  Direction direction = Direction::kOut;
  Bytes bytes;
  std::optional<Process> supervisor;
  bool measure = false;  // What leaves.
  std::vector<DevicePair> pairs;
  std::vector<Process> processes;
};
std::vector<std::string> mover_arguments(const MoverTask& task);
/// Absent: they make no sense.
std::optional<MoverTask> parse_mover_arguments(std::span<char* const> arguments);

}  // namespace berth::gpu
