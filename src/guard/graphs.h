// SPDX-License-Identifier: Apache-2.0
// Memory that executable graphs need of devices, and whether it is reserved for them already. It
// does not charge and makes no call of the driver. Any thread; in zeroed memory it is empty and
// ready.
//
// Note [Launches and trims]
//
// What a launch believes to be reserved must not be given back before it is made. So launches under
// way are counted for each device, and so are trims; a launch counts itself first and then looks
// for trims, a trim does it the other way round. While something is given back nothing is believed
// to be reserved, and afterwards nothing that was reserved before. A trim waits a little for
// launches, they do not wait for it.
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
    bool has(std::uint32_t ordinal) const;
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

  /// The devices of a launch under way.
  struct Launch {
    std::uint32_t ordinals[kDevicesOfOne];
    std::size_t count;
  };
  /// A launch is about to be made for which `charged` was charged. False: more is missing by now,
  /// and it must not be made.
  bool begin_launch(Handle exec, const Needs& charged, Launch& launch);
  void end_launch(const Launch& launch);

  /// The driver is about to give back what no graph uses at the moment. False: launches that count
  /// on it take too long.
  bool begin_trim(std::uint32_t ordinal);
  void end_trim(std::uint32_t ordinal);

 private:
  template <class Each>
  void for_each_device(Handle exec, Each each) {
    for (std::size_t i = 0; i < kDevicesOfOne; ++i) {
      const Entry entry = needs_.find(exec + i);
      if (entry.key == 0) return;
      each(entry);
    }
  }

  std::atomic<std::uint32_t> any_;
  std::atomic<std::uint64_t> epochs_[kOrdinalsMax];
  std::atomic<std::uint32_t> launches_[kOrdinalsMax];  // Under way.
  std::atomic<std::uint32_t> trims_[kOrdinalsMax];
  // By handle, which is a multiple of 8, and for further devices by the numbers after it: owner is
  // the epoch in which it was reserved.
  Table needs_;
};

}  // namespace berth::guard
