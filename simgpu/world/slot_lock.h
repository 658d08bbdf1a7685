// SPDX-License-Identifier: Apache-2.0
// The lock by which a process shows that it lives, on the byte of its slot behind the end of a
// world's file. The kernel drops it when the process ends or replaces its program; nobody's pid,
// namespace, /proc or clock matters. Takes and asks, and waits for nobody; any thread.
//
// Note [A lock that hangs on memory]
//
// The lock belongs to an open file, and that lives as long as a descriptor or a mapping of it. It
// is kept by a page that is mapped: so no program that closes all its descriptors loses it, and no
// child of fork, which does not get the page, keeps it beyond its parent's end. File systems over
// others (overlayfs) map another file than the one that was opened: there a descriptor keeps it.
// The program may close that; then the pid is all that is left to ask.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "os/unique_fd.h"

namespace berth::simgpu {

/// What opening the path must lead to: another world may lie there by now.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileId&) const = default;
};
FileId file_behind(int fd);

class SlotLock {
 public:
  /// Nothing: another process has it, or the file system has no such locks.
  static std::optional<SlotLock> take(const std::string& path, std::uint32_t slot);

  bool by_descriptor() const { return static_cast<bool>(file_); }
  /// In a child of fork: its parent's lock must not outlive the parent.
  void leave_to_parent() { file_ = {}; }

 private:
  struct Unmap {
    void operator()(std::byte* page) const;
  };

  std::unique_ptr<std::byte, Unmap> page_;
  os::UniqueFd file_;
};

/// Asks who lives, as of one moment.
class SlotLocks {
 public:
  SlotLocks(const std::string& path, FileId file);

  /// Also where it cannot be told: nothing of a living process may be given to others.
  bool is_held(std::uint32_t slot) const;

 private:
  os::UniqueFd file_;
};

}  // namespace berth::simgpu
