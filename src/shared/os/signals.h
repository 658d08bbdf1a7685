// SPDX-License-Identifier: Apache-2.0
// Signals as something that can be read: they are blocked for the process and taken from a
// descriptor. Made before other threads start, because a signal mask belongs to a thread.
#pragma once

#include <csignal>
#include <cstdint>
#include <optional>
#include <span>

#include "base/ids.h"
#include "base/result.h"
#include "os/unique_fd.h"

namespace berth::os {

struct SignalSeen {
  std::int32_t signal = 0;
  std::int32_t sender_pid = 0;  // Of its sender; of a SIGCHLD the child.
  UserId sender;
  bool from_process = false;  // Sent by kill, tgkill or sigqueue, not by the kernel or a terminal.
};

class SignalDescriptor {
 public:
  /// Blocks these signals in the calling thread and in those it will start.
  static Result<SignalDescriptor> open(std::span<const int> signals);

  int descriptor() const { return fd_.get(); }
  /// The next one that is pending, without waiting.
  std::optional<SignalSeen> read();
  /// What the mask was before: to be set in a child before exec, because exec inherits the mask.
  const sigset_t& mask_before() const { return before_; }

 private:
  SignalDescriptor(UniqueFd fd, const sigset_t& before) : fd_(std::move(fd)), before_(before) {}

  UniqueFd fd_;
  sigset_t before_;
};

}  // namespace berth::os
