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
constexpr std::uint32_t kLayout = 5;
constexpr std::uint32_t kEventsMax = 8192;
constexpr std::uint32_t kUnmanagedSlot = 0;
constexpr std::int32_t kUnmanagedPid = 4194303;  // Linux gives pids below 2^22; this one last.
constexpr std::uint32_t kForEver = 0xffffffff;
/// Host memory that holds what was saved is counted as one device more.
constexpr std::uint32_t kHostMemory = kDevicesMax;

/// How a device is shared, where the driver then refuses what it can do elsewhere.
enum class DeviceMode : std::uint32_t { kUsual, kMig, kMps };

/// Of the time, in percent, as NVML tells it.
struct UtilizationRates {
  std::uint8_t computing = 0;
  std::uint8_t copying = 0;
  bool is_told = false;
  std::uint8_t unused = 0;
};

/// Figures that NVML tells of a device beside its memory.
enum class Gauge : std::uint32_t {
  kTemperature,  // Degrees Celsius.
  kPower,        // Milliwatts, like the limit.
  kPowerLimit,
  kSmClock,  // Megahertz, like the memory's.
  kMemoryClock,
  kFan,  // Percent.
  kPcieGeneration,
  kPcieLanes,
  kEccCorrected,
  kEccUncorrected,
  kThrottle,  // NVML's bits.
};
constexpr std::size_t kGauges = 11;
/// A figure plus 1; 0: nobody has said any.
using Told = std::atomic<std::uint32_t>;

struct alignas(64) DeviceState {
  std::array<std::uint8_t, 16> uuid;  // Written once, like the model.
  std::array<char, kModelLengthMax + 1> model;
  Account account;
  std::atomic<std::uint64_t> capacity_blocks;  // berth-simctl.
  std::atomic<std::uint64_t> reserved_blocks;  // berth-simctl.
  std::atomic<std::uint32_t> lost;             // berth-simctl.
  std::atomic<DeviceMode> mode;                // berth-simctl.
  std::atomic<UtilizationRates> utilization;   // berth-simctl.
  std::array<Told, kGauges> gauges;            // berth-simctl.
  std::atomic<std::uint32_t> has_load;  // Some process has said how busy it keeps the device. It.
};

/// The checkpoint calls, in this order in CheckpointState and FaultState.
enum class CheckpointCall : std::uint32_t { kLock, kCheckpoint, kRestore, kUnlock };
constexpr std::size_t kCheckpointCalls = 4;

/// One process as the driver's checkpoint calls see it: its state, and the call that was made on it
/// last. Callers take turns (a lock of the kernel's, which ends with who has it) and write what
/// they ask for; a thread of the process itself does it.
struct CheckpointState {
  std::atomic<Identity> owner;          // Whose all this is; 0: nobody serves. The process.
  std::atomic<std::uint32_t> thread;    // Which of its threads serves; a futex. The process.
  std::atomic<std::uint32_t> state;     // As CUprocessState counts them. The process.
  std::atomic<std::uint32_t> asked;     // How many calls were made; a futex. A caller, last.
  std::atomic<std::uint32_t> answered;  // How many are done; a futex. The process.
  std::atomic<std::uint32_t> result;    // Of the last one that is. The process.
  std::atomic<Identity> target;         // Whom the caller means.
  std::atomic<CheckpointCall> call;
  std::atomic<std::uint32_t> timeout_ms;  // 0: none.
  // Where the restored process will have what it has on a device: the number of a device and 1.
  std::array<std::atomic<std::uint32_t>, kDevicesMax> moves;
};

/// One process that has, or had, a context.
struct alignas(64) SlotState {
  std::atomic<Identity> owner;  // 0: free. The process takes it; who finds it dead, frees.
  std::atomic<std::uint64_t> pid_namespace;       // ProcessNumbers. Owner.
  std::atomic<std::uint64_t> start_ticks;         // Owner.
  std::atomic<std::int32_t> own_pid;              // Owner.
  std::atomic<std::int32_t> pid;                  // Owner.
  std::atomic<std::int32_t> outer_pid;            // In the world's namespace; 0: not known yet.
                                                  // Owner, or who looks from there.
  std::atomic<std::uint32_t> lock_by_descriptor;  // See Note [A lock that hangs on memory]. Owner.
  std::atomic<std::uint32_t> generation;          // Counts the owners.
  std::atomic<std::uint32_t> contexts;            // One bit a device. Owner.
  std::atomic<std::uint64_t> death;  // When it was first seen dead (us, 48 bits), and of which
                                     // generation (16 bits). Written by any that sees it.
  std::array<Share, kDevicesMax + 1> shares;  // Of the devices, and of the host's memory.
  // How busy it keeps each device, in percent. Owner; 0 where nobody has said it since it came.
  std::array<std::atomic<std::uint32_t>, kDevicesMax> load;
  CheckpointState checkpoint;
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

/// What makes those who meet it wait until an instant, or until it is set to another one.
struct HangState {
  std::atomic<std::int64_t> until_ns;
  std::atomic<std::uint32_t> epoch;  // A futex: changed when the line above is.
};

/// What calls return instead of doing anything.
struct ErrorState {
  std::atomic<std::uint32_t> code;  // 0: nothing is wrong.
  std::atomic<std::uint32_t> left;  // How many more of them; kForEver: all.
};

/// Set by berth-simctl, obeyed by the libraries.
struct FaultState {
  std::atomic<std::int64_t> teardown_us;  // How long the memory of a dead process stays used.
  ErrorState nvml_error;
  HangState nvml_hang;
  HangState busy;  // What was put into streams is not done before.
  std::array<ErrorState, kCheckpointCalls> checkpoint_errors;
  HangState checkpoint_hang;
  std::atomic<std::uint32_t> no_process_figures;
  std::atomic<std::int32_t>
      unmanaged_pid;  // 0: the unmanaged processes' memory belongs to no listed pid.
  std::atomic<std::uint32_t> unmanaged_is_graphics;
};

struct WorldFile {
  std::uint64_t magic;
  std::uint32_t layout;
  std::uint32_t device_count;
  std::array<char, 40> boot_id;  // Blank: made by one without a /proc.
  std::uint64_t pid_namespace;   // That it was made in.
  std::array<char, 1024> spec_text;
  std::uint64_t context_blocks;
  Account host;                                     // Memory that holds what was saved.
  std::atomic<std::uint64_t> host_capacity_blocks;  // berth-simctl.
  FaultState faults;
  std::atomic<std::uint32_t> slots_seen;  // No slot at or above it was ever taken.
  std::atomic<std::uint64_t> events_made;
  std::array<DeviceState, kDevicesMax> devices;
  std::array<SlotState, kSlotsMax> slots;
  std::array<EventState, kEventsMax> events;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(std::atomic<UtilizationRates>::is_always_lock_free);

}  // namespace berth::simgpu
