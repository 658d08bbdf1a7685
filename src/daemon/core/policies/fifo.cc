// SPDX-License-Identifier: Apache-2.0
// fifo: who asked first comes first. Priorities are not looked at.
#include "core/policies/rank.h"

namespace berth::core {

Ranking fifo_ranking(const Lease&) {
  return {};
}

}  // namespace berth::core
