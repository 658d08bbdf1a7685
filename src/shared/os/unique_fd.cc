// SPDX-License-Identifier: Apache-2.0
#include "os/unique_fd.h"

#include <fcntl.h>
#include <unistd.h>

namespace berth::os {

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  const UniqueFd before(std::exchange(fd_, other.release()));
  return *this;
}

UniqueFd::~UniqueFd() {
  // A failing close has still given the descriptor back on Linux; there is nothing to do about it.
  if (fd_ >= 0) ::close(fd_);
}

void hold_standard_descriptors() {
  // The lowest that is free is taken: so each of the three, or at last one that is none of them.
  int taken = 0;
  while (taken >= 0 && taken <= STDERR_FILENO) taken = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (taken > STDERR_FILENO) ::close(taken);
}

}  // namespace berth::os
