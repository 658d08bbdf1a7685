// SPDX-License-Identifier: Apache-2.0
// Changes of leases that no sample has confirmed yet.
//
// Note [What a sample has still to tell]: the driver is asked again and again, and its answer is as
// old as the question. So whatever has changed since counts as the most that it may be, until a
// sample that was asked after the change says otherwise: a lease that ends is charged all it had, a
// budget that fell is charged as before, and memory that was moved to the host as if it were there.
#pragma once

#include <optional>
#include <set>

#include "core/decider.h"
#include "core/part.h"

namespace berth::core {

class Confirmations {
 public:
  explicit Confirmations(const Decider& core) : core_(core) {}

  /// It ends, or its command did.
  void await_end(LeaseId id);
  void end_is_told(LeaseId id) { known_[id].end_asked_since.reset(); }
  void await_no_more(LeaseId id) { ending_.erase(id); }
  const std::set<LeaseId>& ending() const { return ending_; }
  /// Only a sample asked after this tells what is left.
  std::optional<Instant> end_awaited_since(LeaseId id) const {
    return known_.at(id).end_asked_since;
  }
  void free(LeaseId id) { known_[id].freed = true; }
  /// It is releasing, and the driver lists nothing of it.
  bool is_free(LeaseId id) const { return known_.at(id).freed; }

  /// Its budget fell, or it may have less again than it could.
  void await_shrunk(LeaseId id);
  /// It may still have what it had before its budget fell.
  bool may_be_above(LeaseId id) const;
  const std::set<LeaseId>& shrunk() const { return shrunk_; }
  Instant shrunk_at(LeaseId id) const;
  /// A sample has told what it left on its devices; what it may have again is not known.
  void confirm_left(LeaseId id) { known_[id].shrink_confirmed = true; }
  void confirm_shrunk(LeaseId id);
  /// When the driver is to be asked again about budgets that fell, if at all.
  Instant shrunk_due(Instant asked_at) const;

  void await_swapped_out(LeaseId id);
  bool awaits_swapped_out(LeaseId id) const { return swapped_out_.contains(id); }
  bool awaits_any_swapped_out() const { return !swapped_out_.empty(); }
  Instant swapped_out_at(LeaseId id) const { return known_.at(id).swapped_out_at; }
  void confirm_swapped_out(LeaseId id) { swapped_out_.erase(id); }
  /// Those of which the sample tells; a suspended lease is charged what is still there from then
  /// on.
  std::set<LeaseId> take_swapped_out(const Sample& sample);

  void forget(LeaseId id);

 private:
  struct OfLease {
    bool freed = false;
    std::optional<Instant> end_asked_since;
    std::optional<Instant> shrunk_at;
    bool shrink_confirmed = false;  // By a sample that was asked while it was suspended.
    Instant swapped_out_at;
  };

  Ref<const Decider> core_;
  PerLease<OfLease> known_;
  std::set<LeaseId> ending_;
  std::set<LeaseId> shrunk_;
  std::set<LeaseId> swapped_out_;
};

}  // namespace berth::core
