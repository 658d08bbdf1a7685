// SPDX-License-Identifier: Apache-2.0
// The way from the driver to the daemon: answers that are late, do not come, or are incomplete.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "model/device.h"
#include "sim/context.h"
#include "sim/devices.h"
#include "sim/plan.h"

namespace berth::sim {

class Probe {
 public:
  /// Absent: it missed its deadline.
  using Answered = std::function<void(std::optional<Sample>)>;

  Probe(SimContext& context, const Plan& plan, const Devices& devices)
      : context_(context), plan_(plan), devices_(devices) {}

  void ask(Answered answered);
  void set_driver_gone(bool gone) { driver_gone_ = gone; }
  /// A daemon has started, to whom nothing was told yet.
  void forget() {
    has_told_ = false;
    ++daemon_;
  }
  void calm();

 private:
  void lie(Sample& sample);

  SimContext& context_;
  const Plan& plan_;
  const Devices& devices_;
  bool driver_gone_ = false;
  bool calm_ = false;
  bool has_told_ = false;
  std::uint64_t daemon_ = 0;  // Which of them one after the other.
};

}  // namespace berth::sim
