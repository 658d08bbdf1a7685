// SPDX-License-Identifier: Apache-2.0
// Leases that shrink and grow while they run. A budget falls at once; it grows now, or waits ahead
// of requests of its priority, or is refused with what is missing.
//
// Note [Shrinking by itself]: who asked with `--shrink auto` gives back what is far above its use.
// That is sure when each sample for ten minutes has told what it uses, and the budget that is
// enough for the most it ever used is at most half of what it has. A sample that does not tell, a
// changed budget and a time away begin that anew, as a daemon that was started does: an earlier
// peak is not known then. One that was refused memory wants more than it has used, and keeps all.
#pragma once

#include <optional>
#include <vector>

#include "core/admission.h"
#include "core/attribution.h"
#include "core/decider.h"
#include "core/indexes.h"
#include "core/part.h"

namespace berth::core {

class Resizing {
 public:
  Resizing(Decider& core, const Ledger& ledger, const Indexes& indexes, const Devices& devices,
           Attribution& attribution, const Admission& admission)
      : core_(core),
        ledger_(ledger),
        indexes_(indexes),
        devices_(devices),
        attribution_(attribution),
        admission_(admission) {}

  void on(const Resize& event);
  void on(const GrowthRequesterGone& event);

  /// What it uses was just told, or no more.
  void weigh(LeaseId id, Instant asked_at);
  /// Of one that waits to grow. False: there is no room yet.
  bool try_to_grow(LeaseId id);
  /// It waits no more, if it does; who waits for that is refused.
  void drop(LeaseId id, std::optional<Refusal> refusal);
  /// The last change of its budget could not be written.
  void take_back(LeaseId id);
  void forget(LeaseId id) { known_.forget(id); }

 private:
  /// A budget that is far above what is used of it.
  struct Roomy {
    Bytes budget;
    Instant since;
  };
  struct OfLease {
    std::optional<Token> waiter;         // Who waits for the growth.
    std::optional<LeaseResized> before;  // To take the last change back.
    std::optional<Roomy> roomy;
  };

  std::optional<Refusal> refuse(const Lease& lease, Share share) const;
  std::optional<Refusal> refuse_growth(const Lease& lease, Bytes vram) const;
  std::optional<Refusal> refuse_above_limit(const Lease& lease,
                                            const std::vector<Part>& parts) const;
  void resize(LeaseId id, Share share, std::vector<Part> parts);
  void resized(LeaseId id, std::optional<Token> token);
  void make_exclusive(Token token, const Lease& lease);
  std::optional<Bytes> enough_for(const Lease& lease) const;

  Ref<Decider> core_;
  Ref<const Ledger> ledger_;
  Ref<const Indexes> indexes_;
  Ref<const Devices> devices_;
  Ref<Attribution> attribution_;
  Ref<const Admission> admission_;
  PerLease<OfLease> known_;
};

}  // namespace berth::core
