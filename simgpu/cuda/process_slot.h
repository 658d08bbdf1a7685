// SPDX-License-Identifier: Apache-2.0
// A process's part of its world: a slot in all accounts, and the device behind each of the numbers
// by which the process's driver knows them. Nothing but a checkpoint and a restore changes that.
// Not thread-safe.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <optional>

#include "simgpu/world/world.h"

namespace berth::simgpu {

class ProcessSlot {
 public:
  ProcessSlot(World world, std::uint32_t slot);

  World& world() { return world_; }
  std::uint32_t slot_number() const { return slot_; }
  SlotState& slot() { return world_.file().slots[slot_]; }

  // Of a device, by the process's number.
  [[nodiscard]] bool charge(std::uint32_t device, std::uint64_t blocks);
  void release(std::uint32_t device, std::uint64_t blocks);
  std::uint64_t used_bytes(std::uint32_t device);
  void set_context(std::uint32_t device, bool exists);
  bool is_lost(std::uint32_t device) const { return world_.is_lost(places_[device]); }
  const DeviceState& state(std::uint32_t device) const;
  DeviceFigures figures(std::uint32_t device) { return world_.figures(places_[device]); }
  /// The world's number of it.
  std::uint32_t place(std::uint32_t device) const { return places_[device]; }

  /// All that the process has on devices, in blocks.
  std::uint64_t held_blocks();
  /// It has something on a device that is not used in the usual mode.
  bool is_on_shared_device() const;
  /// As much of the host's memory as it has on devices; false if there is not enough.
  [[nodiscard]] bool take_host_memory();
  void give_host_memory();
  /// Gives all devices back, and remembers what was had of each.
  void leave();

  /// By place before, the place after; empty: everything comes back to where it was.
  using Moves = std::map<std::uint32_t, std::uint32_t>;
  enum class Return : std::uint8_t { kDone, kNoMemory, kLost, kWrongMove };
  /// Takes what leave() gave back, on these places. Nothing is changed unless it is done.
  [[nodiscard]] Return swap_in(const Moves& moves);

 private:
  using Paths = std::array<std::uint32_t, kDevicesMax>;
  std::optional<Paths> places_after(const Moves& moves) const;
  bool is_same_kind(std::uint32_t one, std::uint32_t other) const;

  World world_;
  std::uint32_t slot_;
  Paths places_{};
  std::bitset<kDevicesMax> contexts_;
  std::array<std::uint64_t, kDevicesMax> left_{};  // Blocks, from leave() to swap_in().
};

}  // namespace berth::simgpu
