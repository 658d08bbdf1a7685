// SPDX-License-Identifier: Apache-2.0
// The lock by which a process shows that it lives, on its own slot of a lease's `use`: the kernel
// drops it when the process ends, whatever namespaces it is in. It asks and holds; who is dead is
// for the ledger to say. Any thread may ask; the rest is for one at a time.
//
// Note [A descriptor in another program]
//
// The lock belongs to a descriptor, and the program may close that (closefrom), and open another
// file on its number. So it is looked at before each use, by the file behind it, and what is not
// ours is not closed, locked or believed. It is opened again when the ledger next sweeps. A child
// of fork has a copy, which keeps the lock of its parent: its own guard closes that. One without
// CUDA keeps it; see Note [Who is alive] for what is done about that.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "guard/layout.h"
#include "guard/linux.h"

namespace berth::guard {

/// In zeroed memory it is closed.
class SlotLocks {
 public:
  /// Maps `use` of the lease's directory, and keeps it open. False where there are no such locks,
  /// or it cannot be mapped, which leaves `at` null.
  bool open(const char* directory, void*& at, std::size_t& bytes);
  void close();

  /// To be held from take() to drop(): all threads of a process have its locks together.
  Mutex& mutex() { return mutex_; }
  /// For its owner. False: another process has it.
  bool take(std::uint32_t slot);
  /// For one who clears it, beside others who do: it has no owner meanwhile. False: it has one.
  bool take_to_clear(std::uint32_t slot);
  void drop(std::uint32_t slot);
  enum class Holder : std::uint8_t {
    kNobody,  // For sure.
    kClearing,
    kOwner,  // Or nobody can tell.
  };
  /// Of the others.
  Holder holder(std::uint32_t slot) const;
  /// After the program has closed our descriptor: opens the file again, and takes that slot.
  void mend(std::uint32_t own_slot);

 private:
  static constexpr std::size_t kPathMax = 4096;
  int descriptor() const;  // -1: there is none, or not any more.
  void keep(int fd);

  Mutex mutex_;
  std::atomic<int> kept_;  // Our descriptor and 1.
  FileId file_;
  char path_[kPathMax];
};

}  // namespace berth::guard
