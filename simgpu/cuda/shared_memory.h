// SPDX-License-Identifier: Apache-2.0
// Memory that several processes have: a file without a name, and who else holds it. A descriptor
// that was given away holds it as long as it or a copy of it is open, and so does a process that
// adopted it, until it lets go or is dead. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "os/unique_fd.h"
#include "simgpu/cuda/heap.h"

namespace berth::simgpu {

class SharedMemory {
 public:
  /// Nothing if the host has no such memory.
  static std::optional<SharedMemory> create(std::uint32_t device, std::uint64_t bytes);
  /// The memory of a descriptor, which stays its owner's; nothing if there is none of ours behind
  /// it.
  static std::optional<SharedMemory> adopt(int fd);

  std::uint32_t device() const { return device_; }
  std::uint64_t bytes() const { return bytes_; }
  HostMemory map() const;

  /// A descriptor for others; -1 if there is none left.
  int share() const;
  /// A process holds it beside the one that made it.
  bool is_held() const;

 private:
  SharedMemory(os::UniqueFd file, std::uint32_t device, std::uint64_t bytes)
      : file_(std::move(file)), device_(device), bytes_(bytes) {}

  os::UniqueFd file_;
  std::uint32_t device_;
  std::uint64_t bytes_;
};

/// Another description of the same file, which its locks are told apart by; invalid if it cannot be
/// opened.
os::UniqueFd open_again(int fd);
os::UniqueFd open_memory_file(const std::string& path);
/// A file of that size without a name; invalid if the host has none.
os::UniqueFd make_memory_file(const char* name, std::uint64_t bytes);

}  // namespace berth::simgpu
