// SPDX-License-Identifier: Apache-2.0
#include "os/unique_fd.h"

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

}  // namespace berth::os
