// SPDX-License-Identifier: Apache-2.0
// The GPUs of a simulated machine as the driver counts them: who uses how much, exact out-of-memory
// at capacity, memory that is freed some time after its process has ended, a device that falls off
// the bus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/device.h"
#include "model/transfer.h"
#include "sim/context.h"
#include "sim/processes.h"

namespace berth::sim {

/// What one process uses of a device.
struct Use {
  Process process;
  UserId user;
  std::optional<Handle> lease;  // Of its environment, which it takes along when it ends.
  Bytes bytes;
  bool ended = false;  // The process is gone; the memory is not, yet.
};

struct Device {
  DeviceId id;
  std::string model;
  Bytes capacity;
  DeviceFigures figures = {};
  bool lost = false;
  std::vector<Use> uses;

  Bytes used() const;
  Bytes used_by(Process process) const;
  Bytes used_by(Handle lease) const;
  /// What allocations can have altogether.
  Bytes usable() const {
    return saturating_sub(capacity, figures.driver_reserved.value_or(Bytes{}));
  }
};

/// How long the driver takes to free the memory of what has ended.
struct Teardown {
  std::uint32_t slow_per_mille = 0;  // 5 to 500 ms instead of less than one.
  std::uint32_t leak_per_mille = 0;  // Longer than a lease may be releasing.
};

class Devices {
 public:
  Devices(SimContext& context, Processes& processes, std::vector<Device> devices,
          Teardown teardown);

  std::size_t count() const { return devices_.size(); }
  const Device& at(std::size_t index) const { return devices_[index]; }
  std::optional<std::size_t> index_of(DeviceId id) const;

  /// The process has been on some device and is not gone from it.
  bool lists(Process process) const;
  /// False: out of memory, or lost, or no such process.
  bool allocate(Process process, std::size_t index, Bytes bytes);
  void free(Process process, std::size_t index, Bytes bytes);
  /// It has memory on a device that is there: that can be moved to the host.
  bool has_memory(Process process) const;
  /// What they have on each device; absent where the driver does not tell all of it.
  std::optional<std::vector<DeviceUse>> uses_of(std::span<const Process> processes) const;
  void move_out(Process process);
  bool is_swapped_out(Process process) const;
  /// What processes of the lease had on the device, and have in host memory now.
  Bytes away_of(Handle lease, std::size_t index) const;
  /// A process of a lease that was asked for inside of this one has taken memory.
  bool had_memory_inside(LeaseId lease) const { return inside_.contains(lease); }
  /// How often a process of the lease has taken or freed memory.
  std::uint64_t changes_of(Handle lease) const;
  /// Absent: all of it is back. Else the device that had no room, which ruins the process.
  std::optional<std::size_t> move_back(Process process, std::span<const DevicePair> pairs);
  /// All devices on which it had what is in host memory now.
  bool are_named(Process process, std::span<const DevicePair> pairs) const;
  void lose(std::size_t index);
  /// Comes back after a reset: nothing is left on it.
  void find_again(std::size_t index);
  void power_cut();
  /// Nothing is freed late any more, and what was to be is free now.
  void calm();

  /// The truth, as a driver in good health tells it. Both moments are now.
  Sample look() const;
  /// What the dead have on devices, or had at some time since then: a sample may still tell of it.
  std::vector<Use> of_the_dead(Instant since) const;

 private:
  void process_ended(Process process);
  void torn_down(Process process, std::size_t index);
  std::size_t place_after(std::size_t index, std::span<const DevicePair> pairs) const;

  SimContext& context_;
  Processes& processes_;
  std::vector<Device> devices_;
  Teardown teardown_;

  struct Gone {
    Instant at;
    Use use;
  };
  std::vector<Gone> gone_;  // Of the dead, the last ones.

  struct Away {
    std::size_t index;
    Use use;
  };
  std::vector<Away> away_;  // In host memory.
  std::map<Handle, std::uint64_t> changes_;
  std::set<LeaseId> inside_;
};

}  // namespace berth::sim
