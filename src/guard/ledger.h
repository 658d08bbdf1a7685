// SPDX-License-Identifier: Apache-2.0
// One process's view of the ledger that all processes of a lease keep together: what each of them
// has charged against the budget of each device. It lies in shared memory, holds no lock and waits
// for nobody; see Note [A slot a process]. Any thread may call it once it is attached.
#pragma once

#include <cstddef>
#include <cstdint>

#include "guard/backing.h"
#include "guard/layout.h"
#include "guard/linux.h"
#include "guard/slot_locks.h"

namespace berth::guard {

/// Who we are and who lives: /proc's and the kernel's word, or a test's.
struct Census {
  Identity self = 0;
  std::uint64_t pid_namespace = 0;
  std::uint64_t time_namespace = 0;
  bool sees_pids = true;  // /proc numbers processes as that PID namespace does.
  Life (*life_of)(Identity) = nullptr;
  bool (*has_pid)(Identity) = nullptr;
  SlotLocks* locks = nullptr;  // Null: none can be had; we are known by pid and start time.
};

/// The flags of the file of a lease; none where it is no such file.
std::uint64_t flags_of(const void* limit, std::size_t bytes);

class Ledger {
 public:
  enum class Attached : std::uint8_t {
    kYes,
    kBadFile,  // Not a file of ours, of another layout, or too short.
    kNoSlot,   // All slots belong to processes that live.
  };
  /// Checks the files and takes a slot. What an earlier program of this same process left in one
  /// is gone with it.
  Attached attach(const void* limit, std::size_t limit_bytes, void* use, std::size_t use_bytes,
                  const Census& census);

  enum class Charged : std::uint8_t {
    kYes,
    kFull,    // The budget does not allow it.
    kBroken,  // The files make no sense: what they say must not be held against the program.
  };
  /// Never above the budget, in no race: the sum over all processes is within it afterwards, or
  /// nothing is charged.
  Charged charge(std::uint32_t device, std::uint64_t bytes);
  /// The same, of which there is no word if it is not allowed: it will be tried again.
  Charged try_charge(std::uint32_t device, std::uint64_t bytes);
  /// There is no room for so many bytes, and the program is told so.
  void count_refusal(std::uint32_t device, std::uint64_t bytes);
  void release(std::uint32_t device, std::uint64_t bytes);

  std::uint32_t device_count() const { return device_count_; }
  const std::uint8_t* uuid(std::uint32_t device) const { return limit_->devices[device].uuid; }
  std::uint64_t budget(std::uint32_t device) const { return limit_->devices[device].budget.load(); }
  std::uint64_t context_cost(std::uint32_t device) const {
    return limit_->devices[device].context.load();
  }
  /// What a program is told of the size of a device that has so much.
  std::uint64_t total_shown(std::uint32_t device, std::uint64_t bytes) const {
    const bool physical = (limit_->flags.load() & kTotalIsPhysical) != 0;
    return physical || bytes < budget(device) ? bytes : budget(device);
  }
  /// What the lease has is in host memory, or on its way there or back.
  bool is_away() const { return (limit_->flags.load(std::memory_order_relaxed) & kAway) != 0; }
  /// What no context of the lease that is there costs more than, as measured; 0: not known.
  std::uint64_t measured_context(std::uint32_t device) const {
    return limit_->devices[device].measured_context.load(std::memory_order_relaxed);
  }
  /// How much of what we have charged is for contexts that are there.
  void set_context(std::uint32_t device, std::uint64_t bytes) {
    if (is_there()) slot(device).context.store(bytes);
  }
  bool has_context(std::uint32_t device) const {
    return is_there() && slot(device).context.load() > 0;
  }
  /// From now on we may have charged more than the driver takes: nothing is measured by us.
  void set_at_most(std::uint32_t device);
  /// Of all processes, with what was measured beyond that.
  std::uint64_t used(std::uint32_t device) const;
  std::uint64_t used_by_us(std::uint32_t device) const {
    return is_there() ? slot(device).used.load() : 0;
  }

  /// Whether a process of that pid, as we number them, has a slot.
  bool has_process(std::uint64_t pid) const;

  enum class Sweep : std::uint8_t {
    kFreed,  // But what they have charged where the daemon looks after that.
    kAll,
  };
  /// Gives the slots of dead processes back; how many there were. See Notes [Who is alive] and
  /// [What the dead have].
  std::uint32_t sweep(Sweep what = Sweep::kFreed);
  /// A process that is dead, or about to be, has something charged there that is not cleared yet.
  bool has_dead(std::uint32_t device) const;
  /// How often the daemon has looked after the dead; 0: it does not.
  std::uint64_t looks() const { return limit_->looks.load(); }

  // Of a thread that waits until a charge fits; see Note [Nobody misses what comes free].
  struct Wait {
    std::uint32_t device = 0;
    std::uint64_t bytes = 0;
    std::uint64_t since = 0;  // By CLOCK_MONOTONIC, in nanoseconds.
  };
  /// Shown to everybody from now on.
  void begin_wait(const Wait& wait);
  void end_wait(const Wait& wait);
  /// Before a charge is tried: what to give to wait() if it does not fit.
  std::uint32_t before_try();
  /// Until something has come free since before_try(), or the time is over.
  void wait(std::uint32_t before, std::uint64_t nanoseconds);
  /// Another number whenever something was charged or released, or a budget changed.
  std::uint64_t movement() const;
  /// Whether each process of the lease that has charged anything waits, this one among several, and
  /// this one is the last that began to.
  bool is_last_of_a_circle() const;

 private:
  struct Sums {
    std::uint64_t all = 0;
    std::uint64_t decided = 0;
  };
  Sums sums(std::uint32_t device) const;
  bool is_there() const { return backing_.is_there(); }
  SlotUse& slot(std::uint32_t device) const { return use_->slots[device][slot_]; }
  std::uint64_t own_namespaces() const;
  bool take_slot();
  bool take_slot_again();
  bool take_free_slot(Sweep what);
  bool claim(std::uint32_t slot);
  bool judges_by_pid(std::uint64_t namespaces) const;
  Life life_of(std::uint32_t slot, Identity identity, std::uint64_t namespaces) const;
  std::uint32_t slots_seen() const;
  struct Stand {
    bool holds = false;
    std::uint64_t waits_since = UINT64_MAX;  // That is: it does not.
  };
  Stand stand_of(std::uint32_t slot) const;
  bool has_one_owner(std::uint32_t one, std::uint32_t other) const;
  void tell_those_who_wait();
  bool clear_if_dead(std::uint32_t slot, Sweep what);
  bool has_charged(std::uint32_t slot) const;
  bool clear_locked(std::uint32_t slot, Identity identity, std::uint64_t namespaces);
  bool clear_behind_lock(std::uint32_t slot, Identity identity, std::uint64_t namespaces);
  bool clear_by_identity(std::uint32_t slot, Identity identity);
  void give_up(std::uint32_t slot);
  void clear(std::uint32_t slot);
  bool is_sane() const;
  void note_success(std::uint32_t device, std::uint64_t all);

  const LimitFile* limit_ = nullptr;
  UseFile* use_ = nullptr;
  Backing backing_;  // Of `use`.
  std::uint32_t device_count_ = 0;
  std::uint32_t slot_ = 0;
  Census census_;
};

}  // namespace berth::guard
