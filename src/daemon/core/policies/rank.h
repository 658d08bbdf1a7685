// SPDX-License-Identifier: Apache-2.0
// A policy is the order in which waiting requests are considered. It has two parts: the group a
// request is in, and its rank within the group; smaller ranks come first, ties go to who asked
// first. Ranks do not change while a request waits, so the queue is never sorted again.
#pragma once

#include <cstdint>

#include "core/settings.h"
#include "core/share.h"
#include "core/state.h"

namespace berth::core {

struct Ranking {
  ShareKey group;  // Groups take turns by `fair`; the other policies use one group.
  std::int64_t rank = 0;
};

Ranking fifo_ranking(const Lease& lease);
Ranking priority_ranking(const Lease& lease, Duration aging);
Ranking fair_ranking(const Lease& lease, Duration aging);
Ranking value_ranking(const Lease& lease);
/// How long after it was asked for it is due.
Duration value_allowance(const Request& request);

}  // namespace berth::core
