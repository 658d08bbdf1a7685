// SPDX-License-Identifier: Apache-2.0
// The layout of the two files of a lease that the guard and the daemon share: `limit`, which the
// daemon writes, and `use`, which the programs of the lease write. Numbers are little-endian and in
// their natural places. Fields are only ever appended. Nothing here but the layout.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace berth::guard {

constexpr std::uint64_t kLimitMagic = 0x54494d494c545242;  // "BRTLIMIT"
constexpr std::uint64_t kUseMagic = 0x2d2d455355545242;    // "BRTUSE--"
constexpr std::uint32_t kLayout = 1;
constexpr std::uint32_t kSlotsMax = 512;
constexpr std::uint32_t kDevicesMax = 16;

using Word = std::atomic<std::uint64_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == 8);

/// One device's part of the lease.
struct LimitDevice {
  std::uint8_t uuid[16];
  Word budget;       // Bytes.
  Word context;      // What the first context of a process is taken to cost.
  Word unaccounted;  // Measured beyond what the programs have charged; counts as used.
  Word flags;
  Word measured_context;  // What no context that is there costs more than; 0: not known.
  Word reserved[1];
};
static_assert(sizeof(LimitDevice) == 64);

/// Of `flags` of the file: what programs are told of a device's memory, and of a pause.
constexpr std::uint64_t kTotalIsPhysical = 1;  // Its size is the device's, not the budget.
constexpr std::uint64_t kByNvmlToo = 2;        // By NVML what they are told by CUDA.
constexpr std::uint64_t kAway = 4;             // What the lease has is moved to the host, or back.
constexpr std::uint64_t kFrozen = 8;           // Its processes are stopped.

struct LimitFile {
  std::uint64_t magic;
  std::uint32_t layout;
  std::uint32_t size;  // Of the file.
  std::uint32_t device_count;
  std::uint32_t device_size;  // Of an entry of `devices`.
  Word epoch;                 // Grows with each change.
  Word flags;
  Word looks;  // Not 0: what the dead have charged is the daemon's to clear, once the driver has
               // freed it. Grows whenever it has looked after that.
  Word reserved[2];
  LimitDevice devices[kDevicesMax];
};
static_assert(offsetof(LimitFile, devices) == 64);

/// A process: pid 22 bits, start time in clock ticks since boot 42 bits. 0 is nobody.
using Identity = std::uint64_t;

constexpr Identity make_identity(std::uint64_t pid, std::uint64_t start_ticks) {
  return pid << 42U | (start_ticks & ((std::uint64_t{1} << 42U) - 1));
}
constexpr std::uint64_t pid_of(Identity identity) {
  return identity >> 42U;
}
constexpr std::uint64_t start_of(Identity identity) {
  return identity & ((std::uint64_t{1} << 42U) - 1);
}

/// Who has a slot. The owner writes it; when the owner is dead, the process that clears it.
struct SlotOwner {
  Word identity;
  Word namespaces;  // In which that identity means something.
};

/// Where a process's pid and start time mean something: a PID namespace and a time namespace, by
/// their inodes. With kLocks its owner holds a lock on the first byte of its SlotOwner as long as
/// it lives. Without, it is of an earlier guard: that wrote the inode of its PID namespace alone,
/// and takes a slot with kLocks for one of a namespace that it knows nothing of.
constexpr std::uint64_t kLocks = std::uint64_t{1} << 63U;
constexpr std::uint64_t kTimeNamespaceBits = 0x7fffffff;

constexpr std::uint64_t namespaces_of(std::uint64_t pid_namespace, std::uint64_t time_namespace) {
  return kLocks | (time_namespace & kTimeNamespaceBits) << 32U | (pid_namespace & UINT32_MAX);
}
constexpr bool is_locking(std::uint64_t namespaces) {
  return (namespaces & kLocks) != 0;
}
constexpr std::uint64_t pid_namespace_in(std::uint64_t namespaces) {
  return is_locking(namespaces) ? namespaces & UINT32_MAX : namespaces;
}

/// One process's use of one device. Written by the slot's owner alone.
struct alignas(64) SlotUse {
  Word used;       // All that is charged.
  Word undecided;  // The part of it that may still be taken back.
  Word peak;
  Word changes;      // Grows with each charge and release.
  Word wanted;       // By threads that wait until it fits, together; 0: none does.
  Word waits_since;  // By CLOCK_MONOTONIC, in nanoseconds: when the first of them began.
  Word context;      // The part of `used` that is for contexts, once they are there.
  Word at_most;      // Not 0: of the rest it is only known that the driver takes no more.
};
static_assert(sizeof(SlotUse) == 64 && offsetof(SlotUse, context) == 48);

struct UseFile {
  std::uint64_t magic;
  std::uint32_t layout;
  std::uint32_t size;  // Of the file: of that many devices.
  std::uint32_t device_count;
  std::uint32_t slot_count;
  std::atomic<std::uint32_t> slots_seen;  // No slot at or above it was ever taken.
  std::atomic<std::uint32_t> wanting;     // Not 0: a thread waits for what comes free.
  std::atomic<std::uint32_t> wakes;       // Counts up when something has; who waits does so on it.
  std::uint32_t reserved;
  Word refused_bytes;  // The last allocation that was refused: on the device of that number in the
                       // bits from kRefusedDeviceAt on; 0 where a guard of before does not say.
  Word refused_used;   // What was charged there then.
  Word refused_at;     // When, by CLOCK_BOOTTIME, in nanoseconds.
  Word peak[kDevicesMax];     // The most that was charged at once.
  Word refused[kDevicesMax];  // How often an allocation was.
  SlotOwner owners[kSlotsMax];
  SlotUse slots[1][kSlotsMax];  // As many rows as there are devices.
};

static_assert(offsetof(UseFile, peak) == 64);

constexpr unsigned kRefusedDeviceAt = 60;

/// Of the byte in the file that the owner of a slot keeps locked.
constexpr std::uint64_t lock_of_slot(std::uint32_t slot) {
  return offsetof(UseFile, owners) + slot * sizeof(SlotOwner);
}

constexpr std::size_t use_file_size(std::uint32_t devices) {
  return offsetof(UseFile, slots) + devices * sizeof(SlotUse) * kSlotsMax;
}

}  // namespace berth::guard
