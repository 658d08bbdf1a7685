// SPDX-License-Identifier: Apache-2.0
// A scheduling pass: who is granted what, now. It runs at the end of each step that changed the
// queue or the ledger.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/backfill.h"
#include "core/decider.h"
#include "core/indexes.h"
#include "core/ledger.h"
#include "core/part.h"
#include "core/presence.h"
#include "core/resizing.h"
#include "core/slices.h"
#include "core/transfers.h"
#include "core/yielding.h"

namespace berth::core {

class Scheduler {
 public:
  Scheduler(Decider& core, const Ledger& ledger, const Indexes& indexes, Presence& presence,
            Resizing& resizing, Transfers& transfers, Slices& slices, Yielding& yielding)
      : core_(core),
        ledger_(ledger),
        indexes_(indexes),
        presence_(presence),
        resizing_(resizing),
        transfers_(transfers),
        slices_(slices),
        yielding_(yielding) {}

  void schedule();
  /// For tests: each request is looked at, whatever the bounds.
  void take_no_shortcuts() { full_walk_ = true; }

 private:
  const NextTurns& next_turns();
  void grant_all();
  bool grant_one();
  bool resume_one(Walk& walk);
  bool nobody_fits(const Walk& walk) const;
  std::vector<LeaseId> in_order_of_resumption() const;
  void grant(LeaseId id, const std::vector<Part>& parts, bool passed_others);
  bool mark_passed(const std::vector<const Lease*>& ahead, const std::vector<Part>& parts);

  Ref<Decider> core_;
  Ref<const Ledger> ledger_;
  Ref<const Indexes> indexes_;
  Ref<Presence> presence_;
  Ref<Resizing> resizing_;
  Ref<Transfers> transfers_;
  Ref<Slices> slices_;
  Ref<Yielding> yielding_;
  bool full_walk_ = false;
  // Of the pass under way, and when they were asked for.
  NextTurns next_turns_;
  std::optional<std::uint64_t> next_turns_at_;
};

}  // namespace berth::core
