// SPDX-License-Identifier: Apache-2.0
#include "core/settings.h"

#include <algorithm>

namespace berth::core {

IdleSettings Settings::idle_of(const Request& request) const {
  const auto tier = tiers.find(request.tier);
  if (tier == tiers.end()) return idle;
  return {.max = tier->second.idle_max.value_or(idle.max),
          .action = tier->second.idle_action.value_or(idle.action)};
}

bool Settings::idle_leases_make_room() const {
  return idle.max > Duration{} || std::ranges::any_of(tiers, [](const auto& tier) {
           return tier.second.idle_max.value_or(Duration{}) > Duration{};
         });
}

bool Settings::holders_are_asked() const {
  return idle.action == IdleAction::kAsk || std::ranges::any_of(tiers, [](const auto& tier) {
           return tier.second.idle_action == IdleAction::kAsk;
         });
}

}  // namespace berth::core
