// SPDX-License-Identifier: Apache-2.0
#include "simgpu/cuda/virtual_memory.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace berth::simgpu {

std::optional<VirtualMemory::Handle> VirtualMemory::create(std::uint32_t device,
                                                           std::uint64_t bytes, Sharing sharing,
                                                           const Heap::Charge& charge) {
  std::optional<SharedMemory> shared;
  if (sharing == Sharing::kByDescriptor) {
    shared = SharedMemory::create(device, bytes);
    if (!shared) return std::nullopt;
  }
  Heap::Mapping memory = shared ? shared->map() : map_host_memory(bytes, Access::kReadWrite);
  if (!memory || !charge(bytes / kBlockBytes)) return std::nullopt;
  return add({.device = device,
              .bytes = bytes,
              .memory = std::move(memory),
              .shared = std::move(shared),
              .ours = true});
}

VirtualMemory::Handle VirtualMemory::add(Physical physical) {
  physical_.emplace(++last_, std::move(physical));
  return last_;
}

int VirtualMemory::share(Handle handle) const {
  const auto found = physical_.find(handle);
  if (found == physical_.end() || found->second.references == 0) return -1;
  const std::optional<SharedMemory>& shared = found->second.shared;
  return shared ? shared->share() : -1;
}

std::optional<VirtualMemory::Handle> VirtualMemory::adopt(int fd) {
  std::optional<SharedMemory> shared = SharedMemory::adopt(fd);
  if (!shared) return std::nullopt;
  Heap::Mapping memory = shared->map();
  if (!memory) return std::nullopt;
  const std::uint32_t device = shared->device();
  const std::uint64_t bytes = shared->bytes();
  return add({.device = device,
              .bytes = bytes,
              .memory = std::move(memory),
              .shared = std::move(shared),
              .ours = false});
}

void VirtualMemory::drop_unheld(const std::function<void(Freed)>& freed) {
  std::erase_if(kept_, [&](const Retained& kept) {
    if (kept.shared.is_held()) return false;
    freed(kept.what);
    return true;
  });
}

bool VirtualMemory::has_shared() const {
  return !kept_.empty() || std::ranges::any_of(physical_, [](const auto& each) {
    return each.second.shared.has_value();
  });
}

std::optional<VirtualMemory::Freed> VirtualMemory::release(Handle handle) {
  const auto found = physical_.find(handle);
  if (found == physical_.end() || found->second.references == 0) return std::nullopt;
  --found->second.references;
  return drop_if_unused(handle);
}

VirtualMemory::Freed VirtualMemory::drop_if_unused(Handle handle) {
  const auto found = physical_.find(handle);
  Physical& physical = found->second;
  if (physical.references > 0 || physical.mappings > 0) return {};
  Freed freed{.device = physical.device,
              .blocks = physical.ours ? physical.bytes / kBlockBytes : 0};
  if (physical.ours && physical.shared && physical.shared->is_held()) {
    kept_.push_back({.shared = *std::move(physical.shared), .what = freed});
    freed.blocks = 0;
  }
  physical_.erase(found);
  return freed;
}

std::optional<VirtualMemory::Handle> VirtualMemory::retain(DevicePointer at) {
  auto found = mapped_.upper_bound(at);
  if (found == mapped_.begin()) return std::nullopt;
  --found;
  if (at - found->first >= found->second.bytes) return std::nullopt;
  ++physical_.at(found->second.handle).references;
  return found->second.handle;
}

std::optional<DevicePointer> VirtualMemory::reserve(std::uint64_t bytes) {
  Heap::Mapping memory = map_host_memory(bytes + kBlockBytes, Access::kNone);
  if (!memory) return std::nullopt;
  const auto start = reinterpret_cast<DevicePointer>(memory.get());
  const DevicePointer at = (start + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  reserved_.emplace(at, std::move(memory));
  reserved_bytes_.emplace(at, bytes);
  return at;
}

bool VirtualMemory::free_addresses(DevicePointer at, std::uint64_t bytes) {
  const auto found = reserved_bytes_.find(at);
  if (found == reserved_bytes_.end() || found->second != bytes) return false;
  const auto inside = mapped_.lower_bound(at);
  if (inside != mapped_.end() && inside->first < at + bytes) return false;
  reserved_bytes_.erase(found);
  reserved_.erase(at);
  return true;
}

bool VirtualMemory::map(DevicePointer at, std::uint64_t bytes, Handle handle) {
  const auto physical = physical_.find(handle);
  // A handle that was released for good maps nothing, though others' mappings keep the memory.
  if (physical == physical_.end() || physical->second.references == 0) return false;
  if (physical->second.bytes != bytes || at % kBlockBytes != 0) return false;
  auto reserved = reserved_bytes_.upper_bound(at);
  if (reserved == reserved_bytes_.begin()) return false;
  --reserved;
  if (at + bytes > reserved->first + reserved->second) return false;
  const auto next = mapped_.lower_bound(at);
  if (next != mapped_.end() && next->first < at + bytes) return false;
  if (next != mapped_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second.bytes > at) return false;
  }
  mapped_.emplace(at, Mapped{.bytes = bytes, .handle = handle, .accessible = false});
  ++physical->second.mappings;
  return true;
}

VirtualMemory::Mappings::iterator VirtualMemory::cover(DevicePointer at, std::uint64_t bytes) {
  const auto first = mapped_.find(at);
  DevicePointer reached = at;
  for (auto each = first; each != mapped_.end() && each->first == reached && reached < at + bytes;
       ++each) {
    reached += each->second.bytes;
  }
  return reached == at + bytes ? first : mapped_.end();
}

bool VirtualMemory::unmap(DevicePointer at, std::uint64_t bytes,
                          const std::function<void(Freed)>& freed) {
  auto each = cover(at, bytes);
  if (bytes == 0 || each == mapped_.end()) return false;
  while (each != mapped_.end() && each->first < at + bytes) {
    const Handle handle = each->second.handle;
    each = mapped_.erase(each);
    --physical_.at(handle).mappings;
    if (const Freed whole = drop_if_unused(handle); whole.blocks > 0) freed(whole);
  }
  return true;
}

bool VirtualMemory::set_access(DevicePointer at, std::uint64_t bytes, bool allowed) {
  auto each = cover(at, bytes);
  if (bytes == 0 || each == mapped_.end()) return false;
  for (; each != mapped_.end() && each->first < at + bytes; ++each) {
    each->second.accessible = allowed;
  }
  return true;
}

std::byte* VirtualMemory::find(DevicePointer at, std::uint64_t bytes) {
  auto found = mapped_.upper_bound(at);
  if (found == mapped_.begin()) return nullptr;
  --found;
  const std::uint64_t into = at - found->first;
  const Mapped& mapped = found->second;
  if (!mapped.accessible || into >= mapped.bytes || bytes > mapped.bytes - into) return nullptr;
  return physical_.at(mapped.handle).memory.get() + into;
}

}  // namespace berth::simgpu
