// SPDX-License-Identifier: Apache-2.0
// The door to the driver's checkpoint calls, which act on other processes (cuda.h of CUDA 12.8, the
// group «CUDA Checkpointing»). Each may take seconds, or hang with the driver: for a process of its
// own, never for the daemon's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "model/transfer.h"

namespace berth::gpu {

class CheckpointCalls {
 public:
  /// As cuCheckpointProcessGetState numbers them.
  enum class State : std::uint8_t { kRunning, kLocked, kCheckpointed, kFailed };

  CheckpointCalls() = default;
  CheckpointCalls(const CheckpointCalls&) = delete;
  CheckpointCalls& operator=(const CheckpointCalls&) = delete;
  virtual ~CheckpointCalls() = default;

  /// False for a process that does not use CUDA; the one question that tells them apart.
  virtual bool uses_cuda(std::int32_t pid) = 0;
  virtual Result<State> state(std::int32_t pid) = 0;
  // The errors are the driver's, in words.
  /// Running to locked: no call of the driver begins any more, and those inside have ended.
  virtual Status lock(std::int32_t pid, Duration within) = 0;
  /// Locked to checkpointed: its device memory is in its host memory.
  virtual Status checkpoint(std::int32_t pid) = 0;
  /// Checkpointed to locked. Out of device memory, the process is ruined. With `pairs` what it had
  /// on one device comes back on another of the same model: since driver 580 (CUDA 13.0, gpuPairs
  /// of CUcheckpointRestoreArgs); they name all devices on which it has memory.
  virtual Status restore(std::int32_t pid, std::span<const DevicePair> pairs) = 0;
  virtual Status unlock(std::int32_t pid) = 0;

  /// What host memory the process may still take; absent: not known, and not asked for.
  virtual std::optional<Bytes> host_room(std::int32_t pid) = 0;
};

/// Of the driver that is installed. kUnavailable, with the reason, where it has no such calls.
Result<std::unique_ptr<CheckpointCalls>> load_checkpoint_calls(const std::string& library);

}  // namespace berth::gpu
