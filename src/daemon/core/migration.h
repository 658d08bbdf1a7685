// SPDX-License-Identifier: Apache-2.0
// Rules for leases that are to go on on other devices.
//
// Note [A move is a suspension]: the driver brings memory that is in host memory back to any device
// of the same model. So a lease moves by leaving as any other does, being put on other devices
// while its memory is on none, and returning there as any other does: room first, then a sample,
// then the restore. It is charged on one of them at most, and from the record that puts it there it
// belongs there: a daemon that is started anew brings it back to that place, and before that record
// to where it was. What the driver refuses to bring back elsewhere comes back where it was.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/attribution.h"
#include "core/decider.h"
#include "core/devices.h"
#include "core/ledger.h"
#include "core/part.h"
#include "core/swap_needs.h"
#include "model/transfer.h"

namespace berth::core {

class MigrationRules {
 public:
  MigrationRules(const Decider& core, const Ledger& ledger, const Devices& devices,
                 const Attribution& attribution, const SwapNeeds& needs)
      : core_(core), ledger_(ledger), devices_(devices), attribution_(attribution), needs_(needs) {}

  /// It can be moved at all, as far as its share and the driver go.
  std::optional<Refusal> refuse(const Lease& lease) const;
  /// Part by part, in their order.
  std::variant<std::vector<DeviceId>, Refusal> places(const Lease& lease,
                                                      const std::vector<DeviceName>& to) const;
  /// By the time it has left it may have more than when it was to move.
  std::optional<std::string> too_large_for(const Lease& lease,
                                           const std::vector<DeviceId>& to) const;

 private:
  std::optional<Refusal> refuse_places(const Lease& lease, const std::vector<DeviceId>& to) const;
  std::optional<Refusal> refuse_place(const Lease& lease, std::size_t i, DeviceId to) const;

  Ref<const Decider> core_;
  Ref<const Ledger> ledger_;
  Ref<const Devices> devices_;
  Ref<const Attribution> attribution_;
  Ref<const SwapNeeds> needs_;
};

/// Where its memory was, and where it goes: only of one that returns elsewhere.
std::vector<DevicePair> pairs_of(const Held& held);
/// All its processes are listed by the sample: nothing of it is in host memory.
bool is_all_there(const Lease& lease, const Sample& sample);

}  // namespace berth::core
