// SPDX-License-Identifier: Apache-2.0
#include "simgpu/world/slot_lock.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

namespace berth::simgpu {
namespace {

constexpr off_t kLocksAt = off_t{1} << 40U;  // Behind the file's end.
constexpr std::size_t kPage = 4096;

struct flock lock_of(std::uint32_t slot) {
  struct flock range{};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = kLocksAt + slot;
  range.l_len = 1;
  return range;
}

os::UniqueFd open_file(const std::string& path) {
  return os::UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
}

bool lock(int file, std::uint32_t slot) {
  struct flock range = lock_of(slot);
  return ::fcntl(file, F_OFD_SETLK, &range) == 0;
}

bool is_free(int file, std::uint32_t slot) {
  struct flock range = lock_of(slot);
  return ::fcntl(file, F_OFD_GETLK, &range) == 0 && range.l_type == F_UNLCK;
}

}  // namespace

FileId file_behind(int fd) {
  struct stat found{};
  if (::fstat(fd, &found) != 0) return {};
  return {.device = found.st_dev, .inode = found.st_ino};
}

void SlotLock::Unmap::operator()(std::byte* page) const {
  ::munmap(page, kPage);
}

std::optional<SlotLock> SlotLock::take(const std::string& path, std::uint32_t slot) {
  SlotLock made;
  os::UniqueFd file = open_file(path);
  if (!file || !lock(file.get(), slot)) return std::nullopt;
  void* at = ::mmap(nullptr, kPage, PROT_NONE, MAP_SHARED, file.get(), 0);
  if (at != MAP_FAILED) made.page_.reset(static_cast<std::byte*>(at));
  const bool is_kept = made.page_ && ::madvise(at, kPage, MADV_DONTFORK) == 0;
  // Opened first: no other process may find it free in between and take it.
  os::UniqueFd again = open_file(path);
  file = {};
  if (!again) return std::nullopt;
  if (is_kept && !is_free(again.get(), slot)) return made;
  made.page_.reset();
  if (!lock(again.get(), slot)) return std::nullopt;
  made.file_ = std::move(again);
  return made;
}

SlotLocks::SlotLocks(const std::string& path, FileId file) : file_(open_file(path)) {
  if (file_ && file_behind(file_.get()) != file) file_ = {};
}

bool SlotLocks::is_held(std::uint32_t slot) const {
  return !file_ || !is_free(file_.get(), slot);
}

}  // namespace berth::simgpu
