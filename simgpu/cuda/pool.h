// SPDX-License-Identifier: Apache-2.0
// A simulated stream-ordered pool of memory: it takes chunks of the device, gives out pieces of
// them, and keeps chunks that nobody uses until a trim or a synchronisation gives them back. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "simgpu/cuda/heap.h"
#include "simgpu/cuda/range_set.h"

namespace berth::simgpu {

class Pool {
 public:
  static constexpr std::uint64_t kChunkBytes = 16 * kBlockBytes;

  Pool(std::uint32_t device, Heap& heap) : device_(device), heap_(&heap) {}

  std::uint32_t device() const { return device_; }
  std::uint64_t reserved_bytes() const { return reserved_; }
  std::uint64_t used_bytes() const { return used_; }
  std::uint64_t release_threshold = 0;
  bool shared = false;  // With other processes, if they are told of it.
  bool dying = false;   // Destroyed, and its memory is used still.

  /// Nothing if there is no room in its chunks and `charge` refuses another one.
  std::optional<DevicePointer> allocate(std::uint64_t bytes, const Heap::Charge& charge);
  /// False: it is not of this pool.
  bool free(DevicePointer pointer);
  /// Whether one of its chunks begins there: no allocation that a program could free.
  bool has_chunk(DevicePointer pointer) const { return chunks_.contains(pointer); }
  /// How long the piece is that begins there; 0: none does.
  std::uint64_t bytes_at(DevicePointer pointer) const {
    const auto found = pieces_.find(pointer);
    return found == pieces_.end() ? 0 : found->second.granules * kGranuleBytes;
  }
  /// Gives unused chunks back while more than `keep_bytes` are reserved; the blocks of those.
  std::uint64_t trim(std::uint64_t keep_bytes);

 private:
  struct Chunk {
    std::uint64_t bytes;
    RangeSet granules;
  };
  struct Piece {
    DevicePointer chunk;
    std::uint64_t granules;
  };

  std::optional<DevicePointer> take(std::uint64_t granules);

  std::uint32_t device_;
  Heap* heap_;
  std::uint64_t reserved_ = 0;
  std::uint64_t used_ = 0;
  std::map<DevicePointer, Chunk> chunks_;
  std::map<DevicePointer, Piece> pieces_;
};

}  // namespace berth::simgpu
