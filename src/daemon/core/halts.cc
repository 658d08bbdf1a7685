// SPDX-License-Identifier: Apache-2.0
// Reasons why a granted lease is suspended or frozen: who wanted it or for whom it left, and what
// has to happen before it goes on.
#include <optional>

#include "core/views.h"

namespace berth::core {

std::optional<Halt> Views::halt_of(const Lease& lease, Now at) const {
  using Reason = Halt::Reason;
  const Held* held = lease.held();
  if (held == nullptr || (!held->suspension && !held->frozen)) return std::nullopt;
  if (held->pause) return Halt{.reason = Reason::kPaused, .since = held->pause->since};
  if (!held->suspension) return std::nullopt;  // Its processes are on their way.
  const Suspension& suspension = *held->suspension;
  Halt halt{.reason = Reason::kReturns, .since = wall_at(suspension.since, at)};
  const bool leaves = suspension.phase == Suspension::Phase::kSwappingOut;
  const bool comes = suspension.phase == Suspension::Phase::kSwappingIn || suspension.queued;
  if (!transfers_->of(lease.id).stuck.empty()) {
    halt.reason = Reason::kNotReturned;
    return halt;
  }
  // One that is put elsewhere while it is away stays away for what it left for.
  if (!transfers_->of(lease.id).migrates_to.empty() || (!suspension.moved_from.empty() && comes)) {
    halt.reason = Reason::kMoves;
    return halt;
  }
  const Lease* other = suspension.yields_to ? core_->state().find(*suspension.yields_to) : nullptr;
  const bool in_the_way = other != nullptr && other->releasing() == nullptr;
  if (in_the_way) {
    halt.reason = Reason::kYields;
    halt.lease = other->id;
    halt.user = other->user;
    halt.name = other->request.name;
    halt.priority = other->request.priority;
    if (held->idle_since) halt.idle = suspension.since - *held->idle_since;
    return halt;
  }
  if (suspension.turn) {
    halt.reason = Reason::kTurn;
    return halt;
  }
  const MeasureTaken* measure = lease.measures.last(Measure::kSuspend);
  const bool is_for_that = measure != nullptr && measure->begun == suspension.since;
  const bool has_tried = is_for_that && measure->cause == Cause::kUnmanaged &&
                         measure->outcome == MeasureOutcome::kConfirmed &&
                         !displaced_->contains(lease.id);
  if (is_for_that && !has_tried && (leaves || !comes)) {
    halt.reason = Reason::kMeasure;
    halt.cause = measure->cause;
  } else if (!leaves && !comes && !suspension.yields_to) {
    halt.reason = Reason::kNotReturned;
  }
  return halt;
}

}  // namespace berth::core
