// SPDX-License-Identifier: Apache-2.0
// A thread that shares no memory with the one that starts it: both speak by messages over a socket,
// one packet each, and the thread ends when the other side is shut. Its methods are for the thread
// that started it.
#pragma once

#include <functional>
#include <thread>

#include "base/result.h"
#include "os/unique_fd.h"

namespace berth::os {

class Worker {
 public:
  /// Starts a thread that runs `work` with its own end of the socket, all signals blocked.
  static Result<Worker> start(std::function<void(const UniqueFd& far)> work);
  Worker(Worker&&) = default;
  Worker& operator=(Worker&&) = delete;
  ~Worker();

  /// The end of the one that started it.
  const UniqueFd& near() const { return near_; }
  /// Waits until all that was sent is dealt with, and ends the thread. What it sent can still be
  /// read. Again, or on one that was moved from: nothing.
  void finish();

 private:
  Worker(UniqueFd near, std::thread thread) : near_(std::move(near)), thread_(std::move(thread)) {}

  UniqueFd near_;
  std::thread thread_;
};

}  // namespace berth::os
