// SPDX-License-Identifier: Apache-2.0
#include "os/host.h"

#include <unistd.h>

#include <array>

namespace berth::os {

std::string host_name() {
  std::array<char, 256> name = {};  // POSIX: HOST_NAME_MAX is 255 at most.
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  const std::string whole = name.data();
  return whole.substr(0, whole.find('.'));
}

}  // namespace berth::os
