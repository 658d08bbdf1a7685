// SPDX-License-Identifier: Apache-2.0
// Looks at what tensors hold after each step, and has something done about it before memory is at
// its end: vram::Manager decides, the run performs. One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/units.h"
#include "train/settings.h"
#include "vram/manager.h"

namespace berth::trainer {

class MemoryWatch {
 public:
  struct Hands {
    /// Anything but a cleanup.
    std::function<vram::Outcome(vram::Action)> act;
    std::function<void(const std::string&)> say;
  };
  /// `budget`: what the thresholds are shares of; absent: what the machine leaves this process, and
  /// of a GPU nothing is known.
  MemoryWatch(train::Device device, std::optional<Bytes> budget, Hands hands);

  /// A step is over.
  void step();
  /// The most that tensors have held at once since it was made.
  Bytes peak() const;

 private:
  vram::Sample sample();
  std::optional<Bytes> whole();
  void perform(vram::Action action);

  train::Device device_;
  std::optional<Bytes> budget_;
  Hands hands_;
  vram::Manager manager_;
  Bytes peak_;
  std::optional<Bytes> whole_;  // As it was when it was looked up,
  Duration looked_up_;          // which is not done at each step.
};

}  // namespace berth::trainer
