// SPDX-License-Identifier: Apache-2.0
// When each lease is to be looked at again.
#pragma once

#include <map>
#include <set>
#include <utility>

#include "base/ids.h"
#include "base/units.h"

namespace berth::core {

class Timers {
 public:
  /// Instant::never(): not at all.
  void set(LeaseId id, Instant at) {
    if (at == at_of(id)) return;
    due_.erase({at_of(id), id});
    at_.erase(id);
    if (at == Instant::never()) return;
    at_.emplace(id, at);
    due_.emplace(at, id);
  }
  Instant at_of(LeaseId id) const {
    const auto found = at_.find(id);
    return found == at_.end() ? Instant::never() : found->second;
  }
  bool empty() const { return due_.empty(); }
  const std::pair<Instant, LeaseId>& next() const { return *due_.begin(); }

 private:
  std::map<LeaseId, Instant> at_;
  std::set<std::pair<Instant, LeaseId>> due_;
};

}  // namespace berth::core
