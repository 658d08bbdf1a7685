// SPDX-License-Identifier: Apache-2.0
#include "cli/render/obstacles.h"

#include <algorithm>

namespace berth::cli {

const Shortage* lacking(const WhyView& why) {
  if (why.shortages.empty()) return nullptr;
  const std::size_t last = why.shortages.size() - 1;
  return &why.shortages[why.devices_wanted < 2 ? 0
                                               : std::min<std::size_t>(why.devices_fitting, last)];
}

Occupant largest_on(const WhyView& why, const Shortage& gpu) {
  Occupant largest;
  for (const Holder& holder : why.holders) {
    for (const HeldThere& there : holder.devices) {
      if (there.device != gpu.device) continue;
      if (largest.holder != nullptr && there.charged <= largest.charged) continue;
      largest = {.holder = &holder, .charged = there.charged};
    }
  }
  return largest;
}

}  // namespace berth::cli
