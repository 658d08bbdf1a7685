// SPDX-License-Identifier: Apache-2.0
// fair: users, and the sessions of one user, take turns by how much of the machine they have had
// (core/share.h). Priority orders the requests of one group among themselves.
#include "core/policies/rank.h"

namespace berth::core {

Ranking fair_ranking(const Lease& lease, Duration aging) {
  Ranking ranking = priority_ranking(lease, aging);
  ranking.group = {lease.user, lease.request.session};
  return ranking;
}

}  // namespace berth::core
