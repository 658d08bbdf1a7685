// SPDX-License-Identifier: Apache-2.0
// Knowledge of the guard in one process: its lease, and what it has charged there for which
// allocation. It makes no call of the driver; the hooks do, and tell it. Any thread may call it. A
// child of fork begins anew: device memory does not pass to it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "guard/allocations.h"
#include "guard/exports.h"
#include "guard/graphs.h"
#include "guard/ledger.h"
#include "guard/linux.h"
#include "guard/physical.h"
#include "guard/pools.h"
#include "guard/side.h"
#include "guard/slot_locks.h"
#include "guard/table.h"

namespace berth::guard {

constexpr std::uint64_t kSmallMax = std::uint64_t{1} << 20U;  // Up to here they share pages.

/// Memory of this many bytes takes that much of the device: whole pages.
constexpr std::uint64_t pages_of(std::uint64_t bytes) {
  if (bytes > UINT64_MAX - kPageBytes) return UINT64_MAX;
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

/// Where an allocation is made: the device by its place in the lease, and the context it dies with.
struct Place {
  std::uint32_t device = 0;
  std::uint64_t context = 0;
};

class Process {
 public:
  /// This process's, if a lease holds it to a budget; null: everything is passed through.
  static Process* current() {
    if (!is_counted()) return not_counted();
    Process* process = memory_.load(std::memory_order_acquire);
    const bool active = process != nullptr && process->phase_.load(std::memory_order_acquire) ==
                                                  static_cast<std::uint32_t>(Phase::kActive);
    return active && (!process->asks_pid_ || process->is_own()) ? process : begin();
  }

  /// Whether NVML's figures are replaced in this program. Nobody gets a slot for being asked.
  static bool shows_budget_by_nvml();

  /// Says, in a lease, that of two drivers one is not held to the budget. Null.
  static Process* not_counted();

  Ledger& ledger() { return ledger_; }

  /// The device of the lease with that UUID; nothing (-1) if the lease has no such device.
  int device_of(const std::uint8_t (&uuid)[16]) const;

  /// Charges what an allocation of that size may take. False: it must be refused.
  [[nodiscard]] bool reserve(std::uint32_t device, std::uint64_t bytes);
  /// The same, of which there is no word if it must be refused: it will be tried again.
  [[nodiscard]] bool try_reserve(std::uint32_t device, std::uint64_t bytes);
  /// The allocation was not made after all.
  void cancel(std::uint32_t device, std::uint64_t bytes);
  /// What other processes had of ours and have no more is given back.
  void collect() {
    exports_.collect([this](std::uint32_t device, std::uint64_t bytes) { cancel(device, bytes); });
  }
  /// It was made, and of another size than was charged. False: the budget does not allow that.
  [[nodiscard]] bool correct(std::uint32_t device, std::uint64_t from, std::uint64_t to);
  /// It was made, at this address.
  void made(const Place& place, Kind kind, std::uint64_t address, std::uint64_t bytes);

  /// Before an allocation is freed: it is ours no longer. Key 0: we do not know it.
  Entry begin_free(std::uint64_t address) { return allocations_.take(address); }
  /// It was freed, or the driver says that there is no such allocation.
  void freed(const Entry& entry);
  /// The driver did not free it.
  void not_freed(const Entry& entry) { allocations_.put_back(entry); }

  /// A context is about to be made on a device: the first one is charged. False: there is no room
  /// for it; there is no word of that, for it may be tried again.
  [[nodiscard]] bool enter(std::uint32_t device, std::uint64_t cost);
  void leave(std::uint32_t device);
  /// The same for the primary context of a device, which many may retain.
  [[nodiscard]] bool enter_primary(std::uint32_t device, std::uint64_t cost);
  /// It is retained, as this handle; or 0: it was refused.
  void primary_retained(std::uint32_t device, std::uint64_t context);
  /// Asked of the driver between the two: whether it still lives. It may not, after a release.
  std::uint32_t primary_epoch(std::uint32_t device);
  void primary_inactive(std::uint32_t device, std::uint32_t epoch);

  void context_made(const Place& place);
  /// One that is a view of another: what is allocated in it is the other's.
  void view_made(std::uint64_t view, const Place& place);
  void view_gone(std::uint64_t view);
  /// It is gone, with everything that was allocated in it.
  void context_gone(std::uint64_t context);
  /// The device of a context that is known; -1 if it is not.
  int device_of_context(std::uint64_t context);
  /// Where what is allocated in a context lies, if it is known.
  bool place_of_context(std::uint64_t context, Place& place);

  Physical& physical() { return physical_; }
  Exports& exports() { return exports_; }
  std::uint64_t pid() const { return pid_of(self_); }
  Pools& pools() { return pools_; }
  Graphs& graphs() { return graphs_; }

  std::uint64_t bytes_free(std::uint32_t device);

  /// How long a thread may wait for room in the budget, in nanoseconds; 0: it is refused at once.
  std::uint64_t wait_on_full() const { return wait_on_full_; }
  std::uint64_t charged_for_contexts(std::uint32_t device);

  /// One line on stderr, the first time that it is said in this process and its children.
  enum class Once : std::uint8_t {
    kNoFiles,
    kBadFiles,
    kNoSlot,
    kNoProc,
    kBroken,
    kOtherDevice,
    kNoMemory,
    kUnknownFunction,
    kTwoDrivers,
    kCount
  };
  static void say_once(Once what, const char* a, const char* b = "", const char* c = "");

 private:
  enum class Phase : std::uint32_t { kNew, kOpening, kActive, kQuarantined };
  struct Contexts {
    Mutex mutex;
    std::uint32_t living;
    std::atomic<std::uint64_t> charged;
    std::uint64_t primary;    // Its handle.
    std::uint32_t epoch;      // Counts what happens to the primary context.
    std::uint32_t retaining;  // Calls under way.
    bool has_primary;
  };

  static Process* begin();
  static Process* make();
  [[nodiscard]] bool enter_locked(std::uint32_t device, std::uint64_t cost);
  void leave_locked(std::uint32_t device);
  void correct_context(std::uint32_t device);
  bool is_own() const;
  bool open();
  bool is_charged(Ledger::Charged charged);
  void stand_aside();

  static inline std::atomic<Process*> memory_ = nullptr;
  // Counts what happens to contexts_; not begun anew in a child of fork.
  static inline std::atomic<std::uint64_t> contexts_epoch_ = 1;

  // All of it lies in memory that begins as zeros, and is zeros again in a child of fork.
  std::atomic<std::uint32_t> phase_;
  bool asks_pid_;
  Identity self_;
  std::uint64_t wait_on_full_;
  Ledger ledger_;
  SlotLocks locks_;
  Allocations allocations_;
  Table contexts_;  // By handle.
  Physical physical_;
  Exports exports_;
  Pools pools_;
  Graphs graphs_;
  Contexts devices_[kDevicesMax];
};

}  // namespace berth::guard
