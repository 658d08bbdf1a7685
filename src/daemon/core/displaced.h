// SPDX-License-Identifier: Apache-2.0
// Leases that were suspended for what unmanaged processes took: they come back by themselves.
#pragma once

#include <set>

#include "core/decider.h"
#include "core/part.h"

namespace berth::core {

class Displaced {
 public:
  explicit Displaced(Decider& core) : core_(core) {}

  void insert(LeaseId id) { leases_.insert(id); }
  bool contains(LeaseId id) const { return leases_.contains(id); }
  /// It comes back, ends, or a user wants it to stay away.
  void forget(LeaseId id) { leases_.erase(id); }
  /// Of those that made room on the device: they wait for what they had, before new requests of
  /// their priority, as who yielded does.
  void resume_on(DeviceId device);

 private:
  Ref<Decider> core_;
  std::set<LeaseId> leases_;
};

}  // namespace berth::core
