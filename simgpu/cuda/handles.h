// SPDX-License-Identifier: Apache-2.0
// Handles of things that the simulated driver only keeps in mind: functions of modules, links of
// code, textures. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>

namespace berth::simgpu {

class Handles {
 public:
  enum class Kind : std::uint8_t { kFunction, kLink, kTexture };
  using Handle = std::uint64_t;

  Handle create(Kind kind) {
    known_.emplace(last_ += 16, kind);
    return last_;
  }
  bool is(Kind kind, Handle handle) const {
    const auto found = known_.find(handle);
    return found != known_.end() && found->second == kind;
  }
  bool destroy(Kind kind, Handle handle) { return is(kind, handle) && known_.erase(handle) == 1; }

 private:
  std::map<Handle, Kind> known_;
  Handle last_ = 0x5000'0000;
};

}  // namespace berth::simgpu
