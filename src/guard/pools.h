// SPDX-License-Identifier: Apache-2.0
// What is charged for stream-ordered pools of memory: what a pool has reserved of its device, used
// or not, because nobody else can have it. It does not charge and makes no call of the driver; it
// says what to give back. Any thread; in zeroed memory it is empty and ready.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "guard/linux.h"

namespace berth::guard {

class Pools {
 public:
  static constexpr std::size_t kPoolsMax = 256;
  using Handle = std::uint64_t;

  /// From now on this pool of this device is known. False: there are too many.
  bool know(Handle pool, std::uint32_t device);
  /// -1: it is not known.
  int device_of(Handle pool);

  /// So many bytes were charged for what the pool may reserve in a call that is about to be made.
  void begin(Handle pool, std::uint64_t bytes);
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

  /// It is gone; what was charged for it.
  std::uint64_t forget(Handle pool);
  /// All of a device are gone with its last context; what was charged for them.
  std::uint64_t forget_device(std::uint32_t device);

  /// The pool at or after that place in the list, and its place; 0: there is none any more.
  Handle next(std::size_t& place);

  /// Something was freed, so that the next synchronisation may give memory back.
  void freed() { dirty_.store(1, std::memory_order_relaxed); }
  bool take_dirty() {
    return dirty_.load(std::memory_order_relaxed) != 0 && dirty_.exchange(0) != 0;
  }

 private:
  struct Pool {
    Handle handle;
    std::uint32_t device;
    std::uint64_t charged;
    std::uint64_t open;        // Of it, for calls under way.
    std::uint64_t generation;  // Counts what happens to it.
  };
  Pool* find(Handle handle);

  Mutex mutex_;
  std::atomic<std::uint32_t> dirty_;
  std::size_t count_;
  Pool pools_[kPoolsMax];
};

}  // namespace berth::guard
