// SPDX-License-Identifier: Apache-2.0
// Records are facts that were decided. They are all that survives a daemon: recovery is applying
// them in order. Each is complete in itself. None holds a measurement but where that decides
// nothing: Note [A peak is an outcome], Note [Facts that are only told].
#pragma once

#include <cstdint>
#include <string_view>

#include "base/fields.h"
#include "base/units.h"
#include "model/facts.h"
#include "model/restored.h"
#include "model/told_facts.h"

namespace berth {

using AnyFact = AndToldFacts<
    RequestQueued, RequestPassed, RequestParked, LeaseGranted, OfferLapsed, LeaseClaimed,
    MemberSeen, MemberGone, CommandEnded, LeaseResized, GrowthQueued, GrowthDropped, LeaseRenewed,
    LeaseRevoked, LeaseReleasing, LeaseEnded, CheckpointAsked, CheckpointEnded, LeaseRestored,
    UsageRestored, CommandRestored, CountersRestored, SuspendBegun, LeaseSuspended, ResumeQueued,
    ResumeBegun, LeaseResumed, RequeueAsked, RequeueBegun, RequeueDropped, LeaseRequeued,
    LeaseFrozen, LeaseThawed, MeasureBegun, MeasureEnded, LeasePaused, LeaseMoved, LeaseIdle,
    RequestOnHold, RequestKept, JobQueuedAgain, MessageSent, MessageAnswered, RequestEdited>;
/// As AnyFact, but copied, moved and ended in one source file: elsewhere that is a call.
struct Fact : AnyFact {
  using AnyFact::AnyFact;
  Fact();
  Fact(const Fact& other);
  Fact(Fact&& other) noexcept;
  Fact& operator=(const Fact& other);
  Fact& operator=(Fact&& other) noexcept;
  ~Fact();
};

struct Record {
  std::uint64_t sequence = 0;  // Grows by one; 0 in a snapshot.
  Instant at;
  UnixMs wall;
  Fact fact;
};
/// Of what is told before the fact.
constexpr auto fields_of(Is<Record> auto*) {
  return fields({}, field("sequence", &Record::sequence).required(),
                field("at", &Record::at).required(), field("wall", &Record::wall).required());
}

/// "request_queued" and so on: the word in the journal.
std::string_view name_of(const Fact& fact);

}  // namespace berth
