// SPDX-License-Identifier: Apache-2.0
// For whom the session of a browser acts. Pure; any thread.
#pragma once

#include "base/ids.h"

namespace berth::wire {

struct Guest {
  UserId user;
  bool may_act = false;  // False: it may only look.
  friend constexpr bool operator==(const Guest&, const Guest&) = default;
};

}  // namespace berth::wire
