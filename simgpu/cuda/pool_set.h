// SPDX-License-Identifier: Apache-2.0
// The simulated pools of one process: each device's own, those that the program has made, and those
// that it has destroyed while it uses their memory. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>

#include "simgpu/cuda/pool.h"
#include "simgpu/world/world_file.h"

namespace berth::simgpu {

class PoolSet {
 public:
  /// Told of blocks that a device has again.
  using GiveBack = std::function<void(std::uint32_t device, std::uint64_t blocks)>;

  explicit PoolSet(GiveBack give_back) : give_back_(std::move(give_back)) {}

  /// The pool of that handle, if it lives.
  Pool* find(const Pool* handle);
  /// The one of which that is a piece; null if none is.
  const Pool* with(DevicePointer pointer) const;

  Pool& create(std::uint32_t device, Heap& heap) { return pools_.emplace_back(device, heap); }
  Pool& default_of(std::uint32_t device, Heap& heap);
  /// The one that a device allocates from: the default one, or what was put in its place.
  Pool& current_of(std::uint32_t device, Heap& heap);
  void set_current(Pool& pool) { current_[pool.device()] = &pool; }

  /// False: it is a default one.
  bool destroy(Pool& pool);
  /// With its last context on a device a process loses all that it had in pools there.
  void drop(std::uint32_t device, Heap& heap);
  /// Gives back what pools hold beyond their thresholds.
  void synchronise();

  enum class Freed : std::uint8_t { kYes, kBefore, kUnknown };
  Freed free(DevicePointer pointer);

 private:
  void bury();

  GiveBack give_back_;
  std::list<Pool> pools_;
  std::array<Pool*, kDevicesMax> default_{};
  std::array<Pool*, kDevicesMax> current_{};  // Null: the default one.
};

}  // namespace berth::simgpu
