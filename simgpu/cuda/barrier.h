// SPDX-License-Identifier: Apache-2.0
// Lets the calls of a process into its driver one at a time, and none while the gate is closed. Any
// thread may use it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace berth::simgpu {

class Barrier {
 public:
  /// Waits until the gate is open.
  std::unique_lock<std::mutex> enter();

  /// A call that goes on without the lock, and that the gate cannot be closed upon: it was let in,
  /// and the lock is not held when it ends.
  class Residency {
   public:
    Residency() = default;
    /// The caller has the lock.
    explicit Residency(Barrier& barrier);
    ~Residency();
    Residency(Residency&& other) noexcept;
    Residency& operator=(Residency&& other) noexcept;
    Residency(const Residency&) = delete;
    Residency& operator=(const Residency&) = delete;

   private:
    Barrier* barrier_ = nullptr;
  };

  /// Lets nobody in any more and waits for those who are inside. False: some still are after that
  /// time, and the gate is open as before.
  bool close(std::optional<std::chrono::milliseconds> timeout);
  void open();

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  std::condition_variable left_;
  bool closed_ = false;
  unsigned int staying_ = 0;
};

}  // namespace berth::simgpu
