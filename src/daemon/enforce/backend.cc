// SPDX-License-Identifier: Apache-2.0
#include "enforce/backend.h"

#include <array>

namespace berth::enforce {

std::span<const Backend> backends() {
  static constexpr std::array<Backend, 5> kBackends = {{
      {.name = "guard", .look = guard_availability},
      {.name = "audit", .look = audit_availability},
      {.name = "mps", .look = mps_availability},
      {.name = "watchdog", .look = watchdog_availability},
      {.name = "dmem", .look = dmem_availability},
  }};
  return kBackends;
}

}  // namespace berth::enforce
