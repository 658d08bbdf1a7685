// SPDX-License-Identifier: Apache-2.0
// The layout of a world's file, which all processes of a simulated world map. Everything that
// changes is an atomic word; each comment says who writes it. Nothing here but the layout.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "simgpu/world/account.h"
#include "simgpu/world/identity.h"
#include "simgpu/world/spec.h"

namespace berth::simgpu {

constexpr std::uint64_t kMagic = 0x4d49534854524542;  // "BERTHSIM"
constexpr std::uint32_t kLayout = 1;
constexpr std::uint32_t kEventsMax = 8192;
constexpr std::uint32_t kStrangerSlot = 0;
constexpr std::int32_t kStrangerPid = 4194303;  // Linux gives pids below 2^22; this one last.
constexpr std::uint32_t kForEver = 0xffffffff;

struct alignas(64) DeviceState {
  std::array<std::uint8_t, 16> uuid;  // Written once, like the model.
  std::array<char, kModelLengthMax + 1> model;
  Account account;
  std::atomic<std::uint64_t> capacity_blocks;  // berth-simctl.
  std::atomic<std::uint64_t> reserved_blocks;  // berth-simctl.
  std::atomic<std::uint32_t> lost;             // berth-simctl.
};

/// One process that has, or had, a context.
struct alignas(64) SlotState {
  std::atomic<Identity> owner;       // 0: free. The process takes it; who finds it dead, frees.
  std::atomic<std::uint64_t> image;  // Which program the process ran when it took the slot.
  std::atomic<std::uint32_t> generation;  // Counts the owners.
  std::atomic<std::uint32_t> contexts;    // One bit a device. Owner.
  std::atomic<std::uint64_t> death;       // When it was first seen dead (us, 48 bits), and of which
                                          // generation (16 bits). Whoever sees it.
  std::array<Share, kDevicesMax> shares;
};

/// Memory was taken or given back. Written by who did it, `sequence` last.
struct EventState {
  std::atomic<std::uint64_t> sequence;  // 1 more than the event's number; 0 while being written.
  std::atomic<std::int64_t> time_ns;    // CLOCK_BOOTTIME: since then the driver counts it so.
  std::atomic<std::uint64_t> used_blocks;
  std::atomic<std::int64_t> change_blocks;
  std::atomic<std::int32_t> pid;
  std::atomic<std::uint32_t> device;
};

/// Set by berth-simctl, obeyed by the libraries.
struct FaultState {
  std::atomic<std::int64_t> teardown_us;       // How long the memory of a dead process stays used.
  std::atomic<std::uint32_t> nvml_error;       // What NVML calls return; 0: nothing wrong.
  std::atomic<std::uint32_t> nvml_error_left;  // How many more of them; kForEver: all.
  std::atomic<std::int64_t> nvml_hang_until_ns;
  std::atomic<std::uint32_t> nvml_hang_epoch;  // A futex: changed when the line above is.
  std::atomic<std::uint32_t> no_process_figures;
  std::atomic<std::int32_t> stranger_pid;  // 0: the strangers' memory belongs to no listed pid.
  std::atomic<std::uint32_t> stranger_is_graphics;
};

struct WorldFile {
  std::uint64_t magic;
  std::uint32_t layout;
  std::uint32_t device_count;
  std::array<char, 40> boot_id;
  std::array<char, 1024> spec_text;
  std::uint64_t context_blocks;
  FaultState faults;
  std::atomic<std::uint32_t> slots_seen;  // No slot at or above it was ever taken.
  std::atomic<std::uint64_t> events_made;
  std::array<DeviceState, kDevicesMax> devices;
  std::array<SlotState, kSlotsMax> slots;
  std::array<EventState, kEventsMax> events;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace berth::simgpu
