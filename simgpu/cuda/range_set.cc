// SPDX-License-Identifier: Apache-2.0
#include "simgpu/cuda/range_set.h"

#include <iterator>

namespace berth::simgpu {

std::optional<std::uint64_t> RangeSet::take(std::uint64_t units) {
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const auto [start, length] = *range;
    if (length < units) continue;
    if (length == units) {
      free_.erase(range);
    } else {
      // The node is used again: an allocation and its free cost no call of malloc here.
      auto node = free_.extract(range);
      node.key() = start + units;
      node.mapped() = length - units;
      free_.insert(std::move(node));
    }
    return start;
  }
  return std::nullopt;
}

void RangeSet::give(std::uint64_t start, std::uint64_t units) {
  auto after = free_.upper_bound(start);
  if (after != free_.end() && after->first == start + units) {
    units += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == start) {
      before->second += units;
      return;
    }
  }
  free_.emplace_hint(after, start, units);
}

bool RangeSet::is_whole(std::uint64_t units) const {
  return free_.size() == 1 && free_.begin()->first == 0 && free_.begin()->second == units;
}

}  // namespace berth::simgpu
