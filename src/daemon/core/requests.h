// SPDX-License-Identifier: Apache-2.0
// Events of requesters: they ask, come back, claim, set aside, change what they ask for, hang up.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "core/admission.h"
#include "core/attribution.h"
#include "core/decider.h"
#include "core/dependencies.h"
#include "core/devices.h"
#include "core/explainer.h"
#include "core/lifecycle.h"
#include "core/part.h"
#include "core/presence.h"
#include "core/requeuing.h"

namespace berth::core {

class Requests {
 public:
  Requests(Decider& core, const Ledger& ledger, const Devices& devices, const Admission& admission,
           const Dependencies& dependencies, Presence& presence, const Confirmations& confirmations,
           Requeuing& requeuing, Lifecycle& lifecycle, Explainer& explainer)
      : core_(core),
        ledger_(ledger),
        devices_(devices),
        admission_(admission),
        dependencies_(dependencies),
        presence_(presence),
        confirmations_(confirmations),
        requeuing_(requeuing),
        lifecycle_(lifecycle),
        explainer_(explainer) {}

  void on(const Submit& event);
  void on(const Reconnect& event);
  void on(const Claim& event);
  void on(const Join& event);
  void on(const Park& event);
  void on(const Hold& event);
  void on(const Edit& event);
  void on(const RequesterGone& event);

  /// Made when no device was known: it may never fit.
  void note_unchecked(LeaseId id) { unchecked_.insert(id); }
  void refuse_what_never_fits(const Sample& sample);
  void forget(LeaseId id) { unchecked_.erase(id); }

 private:
  void leave(const Lease& job);
  std::optional<LeaseId> find_key(const std::string& key, UserId user) const;

  Ref<Decider> core_;
  Ref<const Ledger> ledger_;
  Ref<const Devices> devices_;
  Ref<const Admission> admission_;
  Ref<const Dependencies> dependencies_;
  Ref<Presence> presence_;
  Ref<const Confirmations> confirmations_;
  Ref<Requeuing> requeuing_;
  Ref<Lifecycle> lifecycle_;
  Ref<Explainer> explainer_;
  std::set<LeaseId> unchecked_;
};

}  // namespace berth::core
