// SPDX-License-Identifier: Apache-2.0
// What executable graphs that allocate memory need of devices, and whether it is reserved for them
// already. It does not charge and makes no call of the driver. Any thread; in zeroed memory it is
// empty and ready.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "guard/table.h"

namespace berth::guard {

class Graphs {
 public:
  using Handle = std::uint64_t;
  static constexpr std::size_t kDevicesOfOne = 8;
  static constexpr std::uint32_t kOrdinalsMax = 64;

  /// Bytes on a device, by this process's number of it.
  struct Need {
    std::uint32_t ordinal;
    std::uint64_t bytes;
    std::uint64_t key;    // Where it is kept here,
    std::uint64_t epoch;  // and when it was looked up.
  };
  struct Needs {
    Need of[kDevicesOfOne];
    std::size_t count;

    void add(std::uint32_t ordinal, std::uint64_t bytes);
  };

  /// Whether there was ever one that allocates.
  bool any() const { return any_.load(std::memory_order_relaxed) != 0; }

  /// It was instantiated; another one may have had that handle before.
  void made(Handle exec, const Needs& needs);
  void gone(Handle exec);
  /// What it needs and may not have: what was not reserved by a launch since the last trim.
  Needs missing(Handle exec);
  /// The driver has reserved it.
  void reserved(const Needs& needs);
  /// Before and after the driver gives back what no graph uses at the moment.
  void trimmed(std::uint32_t ordinal) { epochs_[ordinal].fetch_add(1); }

 private:
  std::atomic<std::uint32_t> any_;
  std::atomic<std::uint64_t> epochs_[kOrdinalsMax];
  // By handle, which is a multiple of 8, and for further devices by the numbers after it: owner is
  // the epoch in which it was reserved.
  Table needs_;
};

}  // namespace berth::guard
