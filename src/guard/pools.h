// SPDX-License-Identifier: Apache-2.0
// Charges for stream-ordered pools of memory: what a pool has reserved of its device, used
// or not, because nobody else can have it. It does not charge and makes no call of the driver; it
// says what to give back. Any number of pools. Any thread; in zeroed memory it is empty and ready.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "guard/linux.h"
#include "guard/table.h"

namespace berth::guard {

class Pools {
 public:
  using Handle = std::uint64_t;

  /// Where a pool's memory lies.
  struct Home {
    /// By its place in the lease; -1: on none of it, as memory of the host. Nothing is charged.
    int device = -1;
    bool is_created = false;  // By the program, which may destroy it.
    bool is_guess = false;    // It was not seen when it was made.
  };
  struct Known {
    Home home;
    bool is_known = false;
    bool is_dying = false;  // Destroyed by the program, which uses memory of it still.
    bool is_charged() const { return is_known && home.device >= 0; }
  };

  /// From now on this pool is known, as it was if it was known before. False: no memory for it.
  bool know(Handle pool, Home home);
  Known known(Handle pool);
  /// The device by its place in the lease; -1: it is not known, or nothing is charged for it.
  int device_of(Handle pool);
  /// That guess was right.
  void is_home(Handle pool);

  /// So many bytes were charged for what the pool may reserve in a call that is about to be made.
  /// False: it is known no longer, and they are to be given back.
  [[nodiscard]] bool begin(Handle pool, std::uint64_t bytes);
  /// That call was made.
  void end(Handle pool, std::uint64_t bytes);

  /// Before the driver is asked what the pool has reserved.
  std::uint64_t look(Handle pool);
  /// What to give back, now that the driver has said it. Nothing if others were at the pool since
  /// look(): what they reserved may not be in that figure.
  struct Settled {
    bool done = false;
    std::uint64_t excess = 0;
  };
  Settled settle(Handle pool, std::uint64_t look, std::uint64_t reserved);

  /// The program destroys it. False: that is the driver's business alone.
  bool begin_destroy(Handle pool);
  /// Nothing of a dying pool was reserved any more at that look: the thread that is told so makes
  /// an end of it, and nobody else is.
  bool take_dead(Handle pool, std::uint64_t look);

  /// It is gone; what was charged for it.
  std::uint64_t forget(Handle pool);
  /// All of a device are gone with its last context; what was charged for them.
  std::uint64_t forget_device(std::uint32_t device);

  /// The pool at or after that place in the list for which something is charged, and its place; 0:
  /// there is none any more.
  Handle next(std::size_t& place);

  /// Something was freed, so that the next synchronisation may give memory back.
  void freed() {
    if (dirty_.load(std::memory_order_relaxed) == 0) dirty_.store(1, std::memory_order_relaxed);
  }
  /// A synchronisation: what was freed before it may have been given back.
  void synchronised() {
    if (dirty_.load(std::memory_order_relaxed) != 0 && dirty_.exchange(0) != 0) all_are_due();
  }
  /// Whether there are pools that may have given something back since they were looked at.
  bool any_is_due() const { return due_.load(std::memory_order_relaxed) != 0; }
  /// One of those, which is so no longer; 0: there is none.
  Handle take_due();

 private:
  struct Pool {
    Handle handle;  // 0: the place is free, and `generation` is the next one that is; 0: none.
    Home home;
    bool is_dying;
    std::uint64_t charged;
    std::uint64_t open;        // Of it, for calls under way.
    std::uint64_t generation;  // Counts what happens to it.
  };
  Pool* find(Handle handle);
  Pool* place_for(Handle handle);
  bool grow();
  void remove(Pool& pool);
  void all_are_due();

  Mutex mutex_;
  std::atomic<std::uint32_t> dirty_;
  std::atomic<std::uint64_t> due_;  // So many places from `look_at_` on.
  std::size_t look_at_;
  std::size_t last_;   // The place that was found last.
  std::size_t free_;   // The first free place below count_, plus one; 0: none.
  std::size_t count_;  // Places that have ever been taken,
  std::size_t room_;   // and those that there are.
  Pool* pools_;
  Table places_;  // By handle: owner is the place, plus one.
};

}  // namespace berth::guard
