// SPDX-License-Identifier: Apache-2.0
#include "simgpu/cuda/heap.h"

#include <sys/mman.h>

#include <iterator>
#include <utility>

#include "simgpu/cuda/shared_memory.h"

// Note [Addresses and backing]
//
// A device pointer must be a number that no host memory has, and reading it on the host must fail
// as it does with a real device. So a heap maps twice: a range that can never be accessed, from
// which pointers are given out, and a range of the same length that holds the data, which only the
// copy functions know: a file without a name, so that other processes can map parts of it. Blocks
// begin at multiples of their size, as those of a real device do. The range is several times the
// device, so that a free piece of addresses is long enough whenever the blocks are free.

namespace berth::simgpu {
namespace {

constexpr std::uint64_t kAddressesPerByte = 4;
constexpr std::uint64_t kGranulesPerBlock = kBlockBytes / kGranuleBytes;

std::uint64_t granules(std::uint64_t bytes) {
  return (bytes + kGranuleBytes - 1) / kGranuleBytes;
}
std::uint64_t blocks(std::uint64_t bytes) {
  return bytes / kBlockBytes + (bytes % kBlockBytes != 0 ? 1 : 0);
}

}  // namespace

void UnmapHostMemory::operator()(std::byte* at) const {
  ::munmap(at, bytes);
}

namespace {

HostMemory memory_at(void* at, std::uint64_t bytes) {
  HostMemory memory(at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at),
                    UnmapHostMemory{bytes});
  if (!memory) return memory;
  // A stripe of 4 KiB must cost 4 KiB; a child of fork has no device memory; a core dump needs
  // none.
  for (const int advice : {MADV_NOHUGEPAGE, MADV_DONTFORK, MADV_DONTDUMP}) {
    (void)::madvise(at, bytes, advice);
  }
  return memory;
}

}  // namespace

HostMemory map_host_memory(std::uint64_t bytes, Access access) {
  const int protection = access == Access::kNone ? PROT_NONE : PROT_READ | PROT_WRITE;
  return memory_at(
      ::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
      bytes);
}

HostMemory map_file_memory(int fd, std::uint64_t offset, std::uint64_t bytes) {
  return memory_at(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
                          static_cast<off_t>(offset)),
                   bytes);
}

std::unique_ptr<Heap> Heap::make(std::uint64_t capacity_bytes) {
  const std::uint64_t count = blocks(capacity_bytes) * kAddressesPerByte;
  const std::uint64_t bytes = count * kBlockBytes;
  Mapping addresses =
      map_host_memory(bytes + kBlockBytes, Access::kNone);  // Its first whole block is the first.
  os::UniqueFd file = make_memory_file("simulated device memory", bytes);
  Mapping backing =
      file ? map_file_memory(file.get(), 0, bytes) : map_host_memory(bytes, Access::kReadWrite);
  if (!addresses || !backing) return nullptr;
  return std::make_unique<Heap>(std::move(addresses), std::move(file), std::move(backing), count);
}

Heap::Heap(Mapping addresses, os::UniqueFd file, Mapping backing, std::uint64_t blocks)
    : addresses_(std::move(addresses)),
      file_(std::move(file)),
      backing_(std::move(backing)),
      first_((reinterpret_cast<DevicePointer>(addresses_.get()) + kBlockBytes - 1) / kBlockBytes *
             kBlockBytes),
      free_blocks_(blocks) {}

std::uint64_t Heap::offset(DevicePointer pointer) const {
  return pointer - first_;
}
DevicePointer Heap::pointer_at(std::uint64_t offset) const {
  return first_ + offset;
}

std::optional<DevicePointer> Heap::allocate(std::uint64_t bytes, const void* owner,
                                            const Charge& charge) {
  std::optional<DevicePointer> pointer;
  if (bytes <= kSmallMax) {
    pointer = allocate_small(bytes, charge);
  } else if (const auto start = take_blocks(blocks(bytes), charge)) {
    pointer = pointer_at(*start * kBlockBytes);
  }
  if (pointer) allocations_.emplace(*pointer, Allocation{bytes, owner, false});
  return pointer;
}

std::optional<std::uint64_t> Heap::take_blocks(std::uint64_t count, const Charge& charge) {
  const std::optional<std::uint64_t> start = free_blocks_.take(count);
  if (start && !charge(count)) {
    free_blocks_.give(*start, count);
    return std::nullopt;
  }
  return start;
}

std::optional<DevicePointer> Heap::allocate_small(std::uint64_t bytes, const Charge& charge) {
  const auto take_from = [&](std::uint64_t block, Chunk& chunk) -> std::optional<DevicePointer> {
    const auto start = chunk.granules.take(granules(bytes));
    if (!start) return std::nullopt;
    if (chunk.granules.empty()) roomy_.erase(block);
    return pointer_at(block * kBlockBytes + *start * kGranuleBytes);
  };
  for (const std::uint64_t block : roomy_) {
    if (const auto pointer = take_from(block, chunks_.at(block))) return pointer;
  }
  const std::optional<std::uint64_t> block = take_blocks(1, charge);
  if (!block) return std::nullopt;
  const auto chunk = chunks_.emplace(*block, Chunk{RangeSet(kGranulesPerBlock), false}).first;
  roomy_.insert(*block);
  return take_from(*block, chunk->second);
}

std::optional<std::uint64_t> Heap::free(DevicePointer pointer) {
  const auto at = allocations_.find(pointer);
  if (at == allocations_.end()) return std::nullopt;
  return erase(at);
}

std::uint64_t Heap::free_all(const void* owner) {
  std::uint64_t given = 0;
  for (auto at = allocations_.begin(); at != allocations_.end();) {
    const auto next = std::next(at);
    if (at->second.owner == owner) given += erase(at);
    at = next;
  }
  return given;
}

std::uint64_t Heap::erase(Allocations::iterator at) {
  const std::uint64_t start = offset(at->first);
  const Allocation allocation = at->second;
  allocations_.erase(at);
  const std::uint64_t block = start / kBlockBytes;
  if (allocation.bytes > kSmallMax)
    return give_blocks(block, blocks(allocation.bytes), allocation.written);

  Chunk& chunk = chunks_.at(block);
  chunk.written = chunk.written || allocation.written;
  chunk.granules.give(start % kBlockBytes / kGranuleBytes, granules(allocation.bytes));
  roomy_.insert(block);
  if (!chunk.granules.is_whole(kGranulesPerBlock)) return 0;
  const bool written = chunk.written;
  chunks_.erase(block);
  roomy_.erase(block);
  return give_blocks(block, 1, written);
}

std::uint64_t Heap::give_blocks(std::uint64_t start, std::uint64_t count, bool written) {
  if (written)
    (void)::madvise(backing_.get() + start * kBlockBytes, count * kBlockBytes,
                    file_ ? MADV_REMOVE : MADV_DONTNEED);
  free_blocks_.give(start, count);
  return count;
}

Heap::Allocations::iterator Heap::holder(DevicePointer pointer, std::uint64_t bytes) {
  auto at = allocations_.upper_bound(pointer);
  if (at == allocations_.begin()) return allocations_.end();
  --at;
  const std::uint64_t into = pointer - at->first;
  const bool within = into < at->second.bytes && bytes <= at->second.bytes - into;
  return within ? at : allocations_.end();
}

std::optional<Heap::Range> Heap::range(DevicePointer pointer) {
  const auto at = holder(pointer, 1);
  if (at == allocations_.end()) return std::nullopt;
  return Range{.at = at->first, .bytes = at->second.bytes};
}

std::byte* Heap::read(DevicePointer pointer, std::uint64_t bytes) {
  if (holder(pointer, bytes) == allocations_.end()) return nullptr;
  return backing_.get() + offset(pointer);
}

std::byte* Heap::write(DevicePointer pointer, std::uint64_t bytes) {
  const auto at = holder(pointer, bytes);
  if (at == allocations_.end()) return nullptr;
  at->second.written = true;
  return backing_.get() + offset(pointer);
}

}  // namespace berth::simgpu
