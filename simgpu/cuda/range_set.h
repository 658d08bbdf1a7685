// SPDX-License-Identifier: Apache-2.0
// Free ranges of a line of units: first fit from the left, neighbours are joined. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace berth::simgpu {

class RangeSet {
 public:
  explicit RangeSet(std::uint64_t units) : free_{{0, units}} {}

  std::optional<std::uint64_t> take(std::uint64_t units);
  void give(std::uint64_t start, std::uint64_t units);

  bool empty() const { return free_.empty(); }

  /// Everything from 0 to `units` is free.
  bool is_whole(std::uint64_t units) const;

 private:
  std::map<std::uint64_t, std::uint64_t> free_;  // Start and length.
};

}  // namespace berth::simgpu
