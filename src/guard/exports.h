// SPDX-License-Identifier: Apache-2.0
// Physical memory that several processes have, and who knows when the last of them lets it go. It
// makes no call of the driver and does not charge. Any thread; in zeroed memory it is empty and
// ready.
//
// Note [Who holds exported memory]
//
// The driver keeps exported memory until its owner, each descriptor and each process that imported
// it have let go of it, and tells nobody when that is. So the owner's guard puts a lock on a
// descriptor that the driver made: a range of its own, of no bytes that anybody reads. The kernel
// keeps it as long as the descriptor, or a copy that was sent elsewhere, is open somewhere. The
// guard of an importer keeps a copy open until its memory is released, and puts the same lock on
// what is exported of it there. The owner looks for the lock by way of a second description of the
// same file.
#pragma once

#include <atomic>
#include <cstdint>

#include "guard/linux.h"
#include "guard/physical.h"
#include "guard/table.h"

namespace berth::guard {

class Exports {
 public:
  /// The driver has made this descriptor for memory of ours.
  void exported(Physical::Object object, int fd, std::uint64_t pid);
  /// The driver has taken this descriptor for memory of another's.
  void imported(Physical::Object object, int fd);

  /// This process has let go of it. True: others have not, so it stays charged.
  bool stays(const Physical::Freed& freed);

  /// give_back(device, bytes) of what stayed and nobody has any more.
  template <class GiveBack>
  void collect(GiveBack give_back) {
    if (staying_.load(std::memory_order_relaxed) == 0) return;
    exports_.take_all(
        [this](const Entry& entry) { return entry.kind == kStaying && !is_held(entry); },
        [&](const Entry& entry) {
          close_ours(static_cast<int>(entry.count) - 1);
          staying_.fetch_sub(1, std::memory_order_relaxed);
          give_back(entry.device, entry.bytes);
        });
  }

 private:
  enum Kind : std::uint16_t { kExported, kImported, kStaying };
  // Also where nobody can be asked any more, because the program has closed our descriptor.
  bool is_held(const Entry& entry) {
    const int fd = static_cast<int>(entry.count) - 1;
    return !is_ours(fd) || is_range_locked(fd, entry.owner);
  }

  bool is_ours(int fd);
  bool keep(const Entry& entry, int fd);
  void close_ours(int fd);

  std::atomic<std::uint32_t> staying_;
  std::atomic<std::uint32_t> last_;
  Table exports_;  // By object: owner is the range, count our descriptor and 1.
  // By our descriptor and 1: which file it is, as its device (owner) and inode (bytes). The program
  // may close it, and open another one on its number.
  Table files_;
};

}  // namespace berth::guard
