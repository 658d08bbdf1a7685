// SPDX-License-Identifier: Apache-2.0
#include "core/settings.h"

#include <algorithm>

namespace berth::core {

Duration Settings::idle_max_of(const Request& request) const {
  const auto tier = tiers.find(request.tier);
  return tier == tiers.end() ? idle_max : tier->second.idle_max.value_or(idle_max);
}

bool Settings::idle_leases_make_room() const {
  return idle_max > Duration{} || std::ranges::any_of(tiers, [](const auto& tier) {
           return tier.second.idle_max.value_or(Duration{}) > Duration{};
         });
}

}  // namespace berth::core
