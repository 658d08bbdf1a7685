// SPDX-License-Identifier: Apache-2.0
// Memory of the host that a program has pinned: made by the driver, or its own. The device sees it
// by the same addresses. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "simgpu/cuda/heap.h"

namespace berth::simgpu {

class HostPages {
 public:
  /// Null: the host has none left.
  void* allocate(std::uint64_t bytes);
  /// False: it was not made here.
  bool free(void* at);
  /// Memory of the program's own. False: a part of it is pinned.
  bool pin(void* at, std::uint64_t bytes);
  bool unpin(void* at);
  /// The same address, if all of that is pinned; null if not.
  std::byte* find(std::uint64_t at, std::uint64_t bytes) const;

 private:
  struct Range {
    std::uint64_t bytes;
    HostMemory made;  // Null: the program's own.
  };
  std::map<std::uint64_t, Range> ranges_;
};

}  // namespace berth::simgpu
