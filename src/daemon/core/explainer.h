// SPDX-License-Identifier: Apache-2.0
// Explanations of a waiting request: why it waits, when it may start, and what would make that
// sooner; and the forecast for a request that is not made yet.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/admission.h"
#include "core/decider.h"
#include "core/dependencies.h"
#include "core/indexes.h"
#include "core/ledger.h"
#include "core/part.h"
#include "core/presence.h"
#include "core/slices.h"
#include "core/views.h"
#include "model/view.h"

namespace berth::core {

class Explainer {
 public:
  Explainer(const Decider& core, const Ledger& ledger, Indexes& indexes, const Admission& admission,
            const Dependencies& dependencies, const Presence& presence, const Slices& slices,
            const Views& views)
      : core_(core),
        ledger_(ledger),
        indexes_(indexes),
        admission_(admission),
        dependencies_(dependencies),
        presence_(presence),
        slices_(slices),
        views_(views) {}

  WhyView why(const Lease& lease, Now at) const;
  /// The request stands in the queue for the length of this call: the answer is what the schedule
  /// would do, by the same code.
  std::variant<FitView, Refusal> fit(const Request& asked, Actor actor, Now at);
  /// Those that wait, the next one first.
  const std::vector<LeaseId>& order(Instant at) const { return ranked(at).order; }
  /// From 1.
  std::optional<std::uint32_t> position(LeaseId id, Instant at) const;
  void forget_order() { ranked_.reset(); }

 private:
  /// Answers, remembered while nothing changes.
  struct Ranked {
    std::uint64_t version = 0;
    Instant at;
    std::vector<LeaseId> order;
    std::vector<std::pair<LeaseId, std::uint32_t>> places;  // By id; counted from 1.
  };

  const Ranked& ranked(Instant at) const;
  void add_shortages(const Request& request, WhyView& view) const;
  void add_turns(const Lease& lease, WhyView& view, Now at) const;
  void add_halt(const Lease& lease, WhyView& view, Now at) const;
  void add_holders(const Lease& lease, WhyView& view, Now at) const;
  void add_start(const Lease& lease, WhyView& view, Now at) const;
  WhyView::Reason reason_of(const Lease& lease, const WhyView& view) const;
  Instant when_user_has_room(const Lease& lease, Instant at) const;
  std::optional<LoweredLimit> lowered_limit(const Lease& lease) const;

  Ref<const Decider> core_;
  Ref<const Ledger> ledger_;
  Ref<Indexes> indexes_;
  Ref<const Admission> admission_;
  Ref<const Dependencies> dependencies_;
  Ref<const Presence> presence_;
  Ref<const Slices> slices_;
  Ref<const Views> views_;
  mutable std::optional<Ranked> ranked_;
};

}  // namespace berth::core
