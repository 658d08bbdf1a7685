// SPDX-License-Identifier: Apache-2.0
#include "simgpu/cuda/pool.h"

namespace berth::simgpu {

std::optional<DevicePointer> Pool::allocate(std::uint64_t bytes, const Heap::Charge& charge) {
  const std::uint64_t granules = bytes / kGranuleBytes + (bytes % kGranuleBytes != 0 ? 1 : 0);
  if (const auto found = take(granules)) return found;
  const std::uint64_t chunk_bytes =
      (bytes / kChunkBytes + (bytes % kChunkBytes != 0 ? 1 : 0)) * kChunkBytes;
  const auto chunk = heap_->allocate(chunk_bytes, this, charge);
  if (!chunk) return std::nullopt;
  chunks_.emplace(*chunk,
                  Chunk{.bytes = chunk_bytes, .granules = RangeSet(chunk_bytes / kGranuleBytes)});
  reserved_ += chunk_bytes;
  return take(granules);
}

std::optional<DevicePointer> Pool::take(std::uint64_t granules) {
  for (auto& [at, chunk] : chunks_) {
    const auto start = chunk.granules.take(granules);
    if (!start) continue;
    const DevicePointer pointer = at + *start * kGranuleBytes;
    pieces_.emplace(pointer, Piece{.chunk = at, .granules = granules});
    used_ += granules * kGranuleBytes;
    return pointer;
  }
  return std::nullopt;
}

bool Pool::free(DevicePointer pointer) {
  const auto found = pieces_.find(pointer);
  if (found == pieces_.end()) return false;
  const Piece piece = found->second;
  pieces_.erase(found);
  chunks_.at(piece.chunk).granules.give((pointer - piece.chunk) / kGranuleBytes, piece.granules);
  used_ -= piece.granules * kGranuleBytes;
  return true;
}

std::uint64_t Pool::trim(std::uint64_t keep_bytes) {
  std::uint64_t blocks = 0;
  for (auto each = chunks_.begin(); each != chunks_.end() && reserved_ > keep_bytes;) {
    const auto next = std::next(each);
    const Chunk& chunk = each->second;
    if (chunk.granules.is_whole(chunk.bytes / kGranuleBytes)) {
      reserved_ -= chunk.bytes;
      blocks += heap_->free(each->first).value_or(0);
      chunks_.erase(each);
    }
    each = next;
  }
  return blocks;
}

}  // namespace berth::simgpu
