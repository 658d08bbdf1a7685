// SPDX-License-Identifier: Apache-2.0
// One process's memory on one simulated device: which addresses are allocated, and the host memory
// behind them, which costs nothing until it is written. How many blocks may be had is counted
// elsewhere (account.h); the heap asks for them. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "os/unique_fd.h"
#include "simgpu/cuda/range_set.h"
#include "simgpu/world/account.h"

namespace berth::simgpu {

constexpr std::uint64_t kGranuleBytes = 512;
constexpr std::uint64_t kSmallMax = std::uint64_t{1} << 20U;

/// An address as CUDA gives it to a program. The host cannot read or write there.
using DevicePointer = std::uint64_t;

/// Host memory, which costs nothing until it is written; null if the host has no addresses left.
struct UnmapHostMemory {
  std::uint64_t bytes;
  void operator()(std::byte* at) const;
};
using HostMemory = std::unique_ptr<std::byte, UnmapHostMemory>;
enum class Access : std::uint8_t { kNone, kReadWrite };
HostMemory map_host_memory(std::uint64_t bytes, Access access);
/// A part of a file, shared with all who map it; null if it cannot be.
HostMemory map_file_memory(int fd, std::uint64_t offset, std::uint64_t bytes);

class Heap {
 public:
  /// Reserves addresses for a device of that size; nothing if the host has none left.
  static std::unique_ptr<Heap> make(std::uint64_t capacity_bytes);

  using Mapping = HostMemory;
  /// For make().
  Heap(Mapping addresses, os::UniqueFd file, Mapping backing, std::uint64_t blocks);

  /// The file whose bytes are the memory, in the order of addresses; -1: there is none.
  int file() const { return file_.get(); }

  /// Called for the blocks that an allocation needs; false: they may not be had.
  using Charge = std::function<bool(std::uint64_t blocks)>;

  /// Small allocations share a block, if one has room; others have blocks of their own. Nothing if
  /// `charge` refuses. `bytes` is above 0.
  std::optional<DevicePointer> allocate(std::uint64_t bytes, const void* owner,
                                        const Charge& charge);

  /// The blocks that are no longer needed; nothing if no allocation begins there.
  std::optional<std::uint64_t> free(DevicePointer pointer);

  /// Frees what an owner allocated; returns the blocks that are no longer needed.
  std::uint64_t free_all(const void* owner);

  /// Where all its addresses begin.
  DevicePointer first() const { return first_; }

  /// The allocation that an address lies in; nothing if it lies in none.
  struct Range {
    DevicePointer at;
    std::uint64_t bytes;
  };
  std::optional<Range> range(DevicePointer pointer);

  /// The host memory behind a range within one allocation; null if it is not within one.
  std::byte* read(DevicePointer pointer, std::uint64_t bytes);
  std::byte* write(DevicePointer pointer, std::uint64_t bytes);

 private:
  struct Allocation {
    std::uint64_t bytes;
    const void* owner;
    bool written;  // Its host memory must be dropped when it is freed.
  };
  // A block that small allocations share, in granules.
  struct Chunk {
    RangeSet granules;
    bool written;
  };
  using Allocations = std::map<DevicePointer, Allocation>;

  std::optional<std::uint64_t> take_blocks(std::uint64_t count, const Charge& charge);
  std::optional<DevicePointer> allocate_small(std::uint64_t bytes, const Charge& charge);
  std::uint64_t erase(Allocations::iterator at);
  std::uint64_t give_blocks(std::uint64_t start, std::uint64_t count, bool written);
  Allocations::iterator holder(DevicePointer pointer, std::uint64_t bytes);
  std::uint64_t offset(DevicePointer pointer) const;
  DevicePointer pointer_at(std::uint64_t offset) const;

  Mapping addresses_;    // Reserved and inaccessible: what programs are given.
  os::UniqueFd file_;    // Behind the memory, so that other processes can map it.
  Mapping backing_;      // The memory itself, as long.
  DevicePointer first_;  // Within addresses_, a multiple of a block's size.
  RangeSet free_blocks_;
  std::map<std::uint64_t, Chunk> chunks_;  // By block.
  std::set<std::uint64_t> roomy_;          // Those of chunks_ that are not full.
  Allocations allocations_;
};

}  // namespace berth::simgpu
