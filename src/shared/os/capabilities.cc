// SPDX-License-Identifier: Apache-2.0
#include "os/capabilities.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "os/errors.h"

namespace berth::os {

Status give_up_capability(int number) {
  CHECK(number >= 0 && number < 32 * _LINUX_CAPABILITY_U32S_3);
  (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, number, 0, 0);
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) {
    return system_error("cannot read the capabilities of this process", errno);
  }
  __user_cap_data_struct& set = sets.at(static_cast<std::size_t>(number) / 32);
  const std::uint32_t others = ~(1U << static_cast<unsigned>(number % 32));
  set.effective &= others;
  set.permitted &= others;
  set.inheritable &= others;
  if (::syscall(SYS_capset, &header, sets.data()) != 0) {
    return system_error("cannot give up a capability", errno);
  }
  return Unit{};
}

}  // namespace berth::os
