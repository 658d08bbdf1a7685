// SPDX-License-Identifier: Apache-2.0
// priority: a level of priority is worth `aging` of waiting. A low request thus comes before every
// urgent one that asks more than 3 * aging after it, and nothing starves. The difference of two
// ranks does not depend on the time, which is why a rank is a constant.
#include "core/policies/rank.h"

namespace berth::core {

Ranking priority_ranking(const Lease& lease, Duration aging) {
  const auto level = static_cast<std::int64_t>(lease.request.priority);
  return {.group = {}, .rank = lease.waits_since().ns - level * aging.ns};
}

}  // namespace berth::core
