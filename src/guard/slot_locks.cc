// SPDX-License-Identifier: Apache-2.0
#include "guard/slot_locks.h"

#include "guard/text.h"

namespace berth::guard {
namespace {

// Beside the memory that a child of fork finds empty.
struct Inherited {
  const SlotLocks* by = nullptr;
  int fd = 0;
  FileId file;
};
constinit Inherited inherited = {};

// In a child of fork, before it opens the file itself.
void close_inherited(const SlotLocks* by) {
  if (inherited.by == by && file_behind(inherited.fd) == inherited.file)
    close_descriptor(inherited.fd);
  inherited = {};
}

}  // namespace

bool SlotLocks::open(const char* directory, void*& at, std::size_t& bytes) {
  close_inherited(this);
  if (!join(path_, sizeof path_, directory, "/use")) return false;
  const int mapped = open_file(path_, Access::kReadWrite);
  if (mapped < 0) return false;
  at = map_descriptor(mapped, Access::kReadWrite, bytes);
  file_ = file_behind(mapped);
  close_descriptor(mapped);
  // Another description: what is mapped keeps its own, and the locks of that, also in a child.
  const int fd = at == nullptr ? -1 : open_file(path_, Access::kReadWrite);
  if (fd < 0) return false;
  // Where the kernel cannot say who holds a lock, or may not be asked, there is none to be had.
  if (file_behind(fd) == file_ && range_holding(fd, 0) != Holding::kUnknown) {
    keep(fd);
    return true;
  }
  close_descriptor(fd);
  return false;
}

int SlotLocks::descriptor() const {
  const int fd = kept_.load() - 1;
  return fd >= 0 && file_behind(fd) == file_ ? fd : -1;
}

void SlotLocks::keep(int fd) {
  const int kept = out_of_the_way(fd);
  inherited = {.by = this, .fd = kept, .file = file_};
  kept_.store(kept + 1);
}

void SlotLocks::close() {
  if (const int fd = descriptor(); fd >= 0) close_descriptor(fd);
  kept_.store(0);
  inherited = {};
}

bool SlotLocks::take(std::uint32_t slot) {
  const int fd = descriptor();
  return fd >= 0 && lock_range_alone(fd, lock_of_slot(slot));
}

bool SlotLocks::take_to_clear(std::uint32_t slot) {
  const int fd = descriptor();
  return fd >= 0 && lock_range(fd, lock_of_slot(slot));
}

void SlotLocks::drop(std::uint32_t slot) {
  if (const int fd = descriptor(); fd >= 0) unlock_range(fd, lock_of_slot(slot));
}

// It is looked at afterwards: before, another file could take its number in between.
SlotLocks::Holder SlotLocks::holder(std::uint32_t slot) const {
  const int fd = kept_.load() - 1;
  const Holding holding = fd < 0 ? Holding::kUnknown : range_holding(fd, lock_of_slot(slot));
  if (fd < 0 || file_behind(fd) != file_) return Holder::kOwner;
  if (holding == Holding::kNobody) return Holder::kNobody;
  return holding == Holding::kTogether ? Holder::kClearing : Holder::kOwner;
}

void SlotLocks::mend(std::uint32_t own_slot) {
  if (kept_.load() == 0 || descriptor() >= 0) return;
  const int fd = open_file(path_, Access::kReadWrite);
  if (fd < 0) return;
  if (file_behind(fd) != file_) {
    close_descriptor(fd);
    return;
  }
  keep(fd);
  (void)take(own_slot);
}

}  // namespace berth::guard
