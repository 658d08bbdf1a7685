// SPDX-License-Identifier: Apache-2.0
// A file descriptor that is closed when its owner dies. It owns and does nothing else; any thread.
#pragma once

#include <utility>

namespace berth::os {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  /// Gives the descriptor away: the caller closes it.
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// The process that started this program may have closed descriptors 0, 1 or 2. What is opened next
/// would be taken for one of them, and be written to. First thing in main(): those that are closed
/// lead to nowhere from then on, and are closed again in what this program becomes or starts.
void hold_standard_descriptors();

}  // namespace berth::os
