// SPDX-License-Identifier: Apache-2.0
// Moving the device memory of processes to host memory and back, stopping them and letting them go
// on; and what may come of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "base/words.h"

namespace berth {

enum class Direction : std::uint8_t {
  kSwapOut,
  kSwapIn,
  kFreeze,  // Its memory stays, and all its processes are stopped.
  kThaw,    // Those that are stopped go on.
};
constexpr auto words_of(Direction) {
  using enum Direction;
  return make_words<Direction>(
      {{kSwapOut, "out"}, {kSwapIn, "back"}, {kFreeze, "stop"}, {kThaw, "go"}});
}

/// What was on one device comes back on another.
struct DevicePair {
  DeviceId from;
  DeviceId to;
  friend bool operator==(const DevicePair&, const DevicePair&) = default;
};

/// What processes have on one device.
struct DeviceUse {
  DeviceId device;
  Bytes used;
  friend bool operator==(const DeviceUse&, const DeviceUse&) = default;
};

/// What came of one move of all processes of a lease.
struct TransferResult {
  enum class Outcome : std::uint8_t {
    kDone,
    kUndone,  // It could not be, and everything is as it was before. `trouble` says why.
    kStuck,   // Some processes are in a state between. `trouble` says which, and why.
  };
  Outcome outcome = Outcome::kDone;
  std::string trouble;
  /// What they had when they could take no more, and then left; devices with nothing are not named.
  /// Absent: it was not asked for, or the driver does not tell all of it.
  std::optional<std::vector<DeviceUse>> left = {};
  /// Pids of what runs below the lease's processes and is another user's: nothing was done to it.
  std::vector<std::int32_t> left_alone = {};
};
constexpr auto words_of(TransferResult::Outcome) {
  using enum TransferResult::Outcome;
  return make_words<TransferResult::Outcome>(
      {{kDone, "done"}, {kUndone, "undone"}, {kStuck, "stuck"}});
}

}  // namespace berth
