// SPDX-License-Identifier: Apache-2.0
// The simulated driver's virtual memory: physical memory without an address (cuMemCreate), reserved
// addresses without memory, and mappings of the one to the other. Physical memory lives until it
// was released as often as it was created or retained and nothing maps it. How many blocks may be
// had is counted elsewhere. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "simgpu/cuda/heap.h"
#include "simgpu/cuda/shared_memory.h"

namespace berth::simgpu {

class VirtualMemory {
 public:
  using Handle = std::uint64_t;

  /// What is free again: so many blocks of that device.
  struct Freed {
    std::uint32_t device = 0;
    std::uint64_t blocks = 0;
  };

  enum class Sharing : std::uint8_t { kNone, kByDescriptor };
  /// `bytes` is a multiple of a block's. Nothing if `charge` refuses.
  std::optional<Handle> create(std::uint32_t device, std::uint64_t bytes, Sharing sharing,
                               const Heap::Charge& charge);
  /// A descriptor by which others get the same memory; -1 if it is not shared. As long as a
  /// process has it or got memory by it, the memory is not free.
  int share(Handle handle) const;
  /// The memory of such a descriptor, which is charged to the process that created it.
  std::optional<Handle> adopt(int fd);
  /// freed(…) for what was kept for others and none of them has any more.
  void drop_unheld(const std::function<void(Freed)>& freed);
  /// Some of it can be, or is, another process's as well.
  bool has_shared() const;
  /// Nothing: there is no such handle. The handle is gone with the last release.
  std::optional<Freed> release(Handle handle);
  /// The handle of what is mapped there; it must be released once more.
  std::optional<Handle> retain(DevicePointer at);

  std::optional<DevicePointer> reserve(std::uint64_t bytes);
  bool free_addresses(DevicePointer at, std::uint64_t bytes);

  bool map(DevicePointer at, std::uint64_t bytes, Handle handle);
  /// Exactly the mappings in that range, which must cover it whole. freed(…) for each that was the
  /// last of its memory.
  bool unmap(DevicePointer at, std::uint64_t bytes, const std::function<void(Freed)>& freed);
  bool set_access(DevicePointer at, std::uint64_t bytes, bool allowed);

  /// The host memory behind a range within one mapping that may be accessed; null if there is none.
  std::byte* find(DevicePointer at, std::uint64_t bytes);

 private:
  struct Physical {
    std::uint32_t device;
    std::uint64_t bytes;
    Heap::Mapping memory;
    std::optional<SharedMemory> shared;
    bool ours;  // Else it is charged to another process.
    std::uint32_t references = 1;
    std::uint32_t mappings = 0;
  };
  struct Retained {
    SharedMemory shared;
    Freed what;
  };
  struct Mapped {
    std::uint64_t bytes;
    Handle handle;
    bool accessible;
  };
  using Mappings = std::map<DevicePointer, Mapped>;

  Handle add(Physical physical);
  Freed drop_if_unused(Handle handle);
  /// The first mapping of a range that mappings cover whole; end() if they do not.
  Mappings::iterator cover(DevicePointer at, std::uint64_t bytes);

  std::map<Handle, Physical> physical_;
  std::vector<Retained> kept_;  // Nothing here uses it.
  std::map<DevicePointer, Heap::Mapping> reserved_;
  std::map<DevicePointer, std::uint64_t> reserved_bytes_;
  Mappings mapped_;
  Handle last_ = 0x7000'0000;  // No small numbers, which a program might guess.
};

}  // namespace berth::simgpu
