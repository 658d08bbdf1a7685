// SPDX-License-Identifier: Apache-2.0
#include "simgpu/cuda/host_pages.h"

#include <bit>
#include <iterator>

namespace berth::simgpu {

void* HostPages::allocate(std::uint64_t bytes) {
  HostMemory made = map_host_memory(bytes, Access::kReadWrite);
  if (!made) return nullptr;
  void* const at = made.get();
  ranges_.emplace(std::bit_cast<std::uint64_t>(at), Range{.bytes = bytes, .made = std::move(made)});
  return at;
}

bool HostPages::free(void* at) {
  const auto found = ranges_.find(std::bit_cast<std::uint64_t>(at));
  if (found == ranges_.end() || !found->second.made) return false;
  ranges_.erase(found);
  return true;
}

bool HostPages::pin(void* at, std::uint64_t bytes) {
  const auto begin = std::bit_cast<std::uint64_t>(at);
  const auto after = ranges_.lower_bound(begin);
  if (after != ranges_.end() && after->first - begin < bytes) return false;
  if (after != ranges_.begin()) {
    const auto& before = *std::prev(after);
    if (begin - before.first < before.second.bytes) return false;
  }
  ranges_.emplace(begin, Range{.bytes = bytes, .made = {}});
  return true;
}

bool HostPages::unpin(void* at) {
  const auto found = ranges_.find(std::bit_cast<std::uint64_t>(at));
  if (found == ranges_.end() || found->second.made) return false;
  ranges_.erase(found);
  return true;
}

std::byte* HostPages::find(std::uint64_t at, std::uint64_t bytes) const {
  const auto after = ranges_.upper_bound(at);
  if (after == ranges_.begin()) return nullptr;
  const auto& [begin, range] = *std::prev(after);
  const std::uint64_t into = at - begin;
  const bool within = into < range.bytes && bytes <= range.bytes - into;
  return within ? std::bit_cast<std::byte*>(at) : nullptr;
}

}  // namespace berth::simgpu
