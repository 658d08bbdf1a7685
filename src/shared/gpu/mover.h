// SPDX-License-Identifier: Apache-2.0
// Moves the device memory of all processes of a lease to the host, or back: all are locked before
// the first is moved, and all are back before the first goes on, since they may wait for one
// another. Whatever fails on the way out is undone. The caller may be killed between any two calls
// of the driver: move_back() goes on from any state.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "gpu/checkpoint_calls.h"
#include "model/transfer.h"

namespace berth::gpu {

struct MoveLimits {
  Duration lock_within = seconds(10);
  Bytes host_margin = gib(1);  // Left to the rest of the machine.
};

/// What these processes have on each device; absent where the driver does not tell.
using Measure = std::function<std::optional<std::vector<DeviceUse>>(std::span<const std::int32_t>)>;

/// `bytes`: about as much is on the devices. Processes that do not use CUDA are left alone. With
/// `measure`, it is asked of all that were locked, before the first is moved.
TransferResult move_out(CheckpointCalls& calls, std::span<const Process> processes, Bytes bytes,
                        const MoveLimits& limits = {}, const Measure& measure = {});
/// With `pairs`, to other devices. Where the driver refuses that to the first process, none of them
/// has been brought back, and all may be brought back to where they were: kUndone.
TransferResult move_back(CheckpointCalls& calls, std::span<const Process> processes,
                         std::span<const DevicePair> pairs = {});

/// "done left-alone=PID... DEVICE=BYTES...", each as often as there are any; "undone WHY", "stuck
/// WHY": one line.
std::string encode(const TransferResult& result);
Result<TransferResult> decode_move_result(std::string_view line);

}  // namespace berth::gpu
