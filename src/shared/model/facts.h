// SPDX-License-Identifier: Apache-2.0
// The facts of leases that records hold (model/record.h), each with its table of fields: the noun
// of the table is the word of the fact in the journal. Each is complete in itself. Those of
// requests that wait are in model/request_facts.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/ids.h"
#include "base/units.h"
#include "model/checkpoint.h"
#include "model/ladder.h"
#include "model/lease.h"
#include "model/message.h"
#include "model/request_facts.h"

namespace berth {

/// One device's budget in a grant.
struct Part {
  DeviceId device;
  Bytes budget;
  friend constexpr auto operator<=>(const Part&, const Part&) = default;
};
constexpr auto fields_of(Is<Part> auto*) {
  return fields({}, field("uuid", &Part::device).required(),
                field("vram_granted", &Part::budget).required());
}

struct LeaseGranted {
  static constexpr bool kTellsGuard = true;
  LeaseId id;
  std::vector<Part> parts;  // In PCI order.
  bool passed_others = false;
};
constexpr auto fields_of(Is<LeaseGranted> auto*) {
  return fields({"lease_granted", "A grant is an offer until it is claimed."},
                field("id", &LeaseGranted::id).required(),
                field("devices", &LeaseGranted::parts).required(),
                field("passed_others", &LeaseGranted::passed_others).required());
}
struct OfferLapsed {
  static constexpr bool kTellsGuard = true;
  LeaseId id;
  bool parked = true;
};
constexpr auto fields_of(Is<OfferLapsed> auto*) {
  return fields({"offer_lapsed",
                 "The offer was not taken up, or could not be written: the request is back "
                 "in its place."},
                field("id", &OfferLapsed::id).required(),
                field("parked", &OfferLapsed::parked).required());
}
struct LeaseClaimed {
  LeaseId id;
  std::optional<Process> command;          // Absent: a lease without a process.
  std::optional<Process> supervisor = {};  // Of a job: who starts it this time.
};
constexpr auto fields_of(Is<LeaseClaimed> auto*) {
  return fields({"lease_claimed", "A grant was taken up."},
                field("id", &LeaseClaimed::id).required(), field("process", &LeaseClaimed::command),
                field("supervisor", &LeaseClaimed::supervisor).left_out(side::kJournal));
}
struct MemberSeen {
  LeaseId id;
  Process process;
};
constexpr auto fields_of(Is<MemberSeen> auto*) {
  return fields({"member_seen", "A process belongs to the lease."},
                field("id", &MemberSeen::id).required(),
                field("process", &MemberSeen::process).required());
}
struct MemberGone {
  LeaseId id;
  Process process;
};
constexpr auto fields_of(Is<MemberGone> auto*) {
  return fields({"member_gone", "A process of it has ended."},
                field("id", &MemberGone::id).required(),
                field("process", &MemberGone::process).required());
}
struct CommandEnded {
  LeaseId id;
  std::optional<ExitStatus> exit;  // Absent: nobody was there to see it.
  EndKind kind = EndKind::kPlain;
  std::optional<Retry> retry = {};  // As its `berth run` was answered; absent: none follows.
};
constexpr auto fields_of(Is<CommandEnded> auto*) {
  return fields({"command_ended", "The command ended; further members may still hold the lease."},
                field("id", &CommandEnded::id).required(), field("exit", &CommandEnded::exit),
                field("kind", &CommandEnded::kind).left_out(side::kJournal),
                field("retry", &CommandEnded::retry).left_out(side::kJournal));
}
struct LeaseResized {
  static constexpr bool kTellsGuard = true;
  LeaseId id;
  Share share = Share::kBudget;
  std::vector<Part> parts;
};
constexpr auto fields_of(Is<LeaseResized> auto*) {
  return fields({"lease_resized", "Its budgets are these from now on."},
                field("id", &LeaseResized::id).required(),
                field("share", &LeaseResized::share).required(),
                field("devices", &LeaseResized::parts).required());
}
struct GrowthQueued {
  LeaseId id;
  Bytes vram;  // On each device.
  std::optional<Instant> until;
};
constexpr auto fields_of(Is<GrowthQueued> auto*) {
  return fields(
      {"growth_queued", "A growth that waits for room."}, field("id", &GrowthQueued::id).required(),
      field("vram", &GrowthQueued::vram).required(), field("until", &GrowthQueued::until));
}
struct GrowthDropped {
  LeaseId id;
};
constexpr auto fields_of(Is<GrowthDropped> auto*) {
  return fields({"growth_dropped", "A growth is not waited for any more."},
                field("id", &GrowthDropped::id).required());
}
struct LeaseRenewed {
  LeaseId id;
  Instant expires;
  UnixMs expires_wall;
};
constexpr auto fields_of(Is<LeaseRenewed> auto*) {
  return fields({"lease_renewed", "A lease without a command is kept until then."},
                field("id", &LeaseRenewed::id).required(),
                field("expires", &LeaseRenewed::expires).required(),
                field("expires", &LeaseRenewed::expires_wall).required());
}
struct LeaseRevoked {
  LeaseId id;
  EndResult result = EndResult::kCancelled;
  Instant kill_at;
  std::optional<UserId> by = {};
};
constexpr auto fields_of(Is<LeaseRevoked> auto*) {
  return fields(
      {"lease_revoked", "It was asked to end: SIGTERM was sent, SIGKILL follows at `kill_at_ns`."},
      field("id", &LeaseRevoked::id).required(), field("result", &LeaseRevoked::result).required(),
      field("kill_at", &LeaseRevoked::kill_at).required(), field("by", &LeaseRevoked::by));
}
struct LeaseReleasing {
  LeaseId id;
  EndResult result = EndResult::kOk;
  std::optional<UserId> by = {};
};
constexpr auto fields_of(Is<LeaseReleasing> auto*) {
  return fields({"lease_releasing",
                 "It has no budget any more, and is charged what its processes still use."},
                field("id", &LeaseReleasing::id).required(),
                field("result", &LeaseReleasing::result).required(),
                field("by", &LeaseReleasing::by));
}
// Note [A peak is an outcome]
//
// Records hold no measurement, so that what is decided from them does not depend on when anybody
// looked. The highest use of a lease is told when it ends, with its result: it is how the run went,
// as an exit status is, and what later runs of the same command are judged by. No lease that lives
// is changed by it.

struct SuspendBegun {
  static constexpr bool kTellsGuard = true;
  LeaseId id;
  std::vector<Bytes> used;                // On each of its devices, in the order of its parts.
  std::optional<LeaseId> yields_to = {};  // The urgent request for which it makes room.
  bool turn = false;  // Its turn is over: it waits for the next one as soon as it is away.
};
constexpr auto fields_of(Is<SuspendBegun> auto*) {
  return fields({"suspend_begun",
                 "Its memory begins to be moved to the host. What its processes use stays "
                 "charged."},
                field("id", &SuspendBegun::id).required(), field("used", &SuspendBegun::used),
                field("yields_to", &SuspendBegun::yields_to), field("turn", &SuspendBegun::turn));
}
struct LeaseSuspended {
  LeaseId id;
  std::vector<Bytes> used = {};  // What has left each of its devices. Empty: nobody measured it.
};
constexpr auto fields_of(Is<LeaseSuspended> auto*) {
  return fields({"lease_suspended", "All of its memory is in host memory: it is charged nothing."},
                field("id", &LeaseSuspended::id).required(), field("used", &LeaseSuspended::used));
}
struct ResumeQueued {
  LeaseId id;
  bool queued = true;
};
constexpr auto fields_of(Is<ResumeQueued> auto*) {
  return fields(
      {"resume_queued", "It is wanted to go on, as soon as there is room; or that is over."},
      field("id", &ResumeQueued::id).required(), field("queued", &ResumeQueued::queued).required());
}
struct ResumeBegun {
  LeaseId id;
};
constexpr auto fields_of(Is<ResumeBegun> auto*) {
  return fields(
      {"resume_begun", "Its budgets are its own again, and its memory begins to be moved back."},
      field("id", &ResumeBegun::id).required());
}
struct LeaseResumed {
  static constexpr bool kTellsGuard = true;
  LeaseId id;
};
constexpr auto fields_of(Is<LeaseResumed> auto*) {
  return fields({"lease_resumed", "It runs, after a suspension or because one came to nothing."},
                field("id", &LeaseResumed::id).required());
}

struct LeaseFrozen {
  static constexpr bool kTellsGuard = true;
  LeaseId id;
};
constexpr auto fields_of(Is<LeaseFrozen> auto*) {
  return fields({"lease_frozen",
                 "All its processes are to be stopped, until it is let go on. Its memory "
                 "stays where it is."},
                field("id", &LeaseFrozen::id).required());
}
struct LeaseThawed {
  static constexpr bool kTellsGuard = true;
  LeaseId id;
};
constexpr auto fields_of(Is<LeaseThawed> auto*) {
  return fields({"lease_thawed", "None of its processes is kept stopped any more."},
                field("id", &LeaseThawed::id).required());
}

struct LeaseIdle {
  LeaseId id;
  std::optional<Instant> since = {};
};
constexpr auto fields_of(Is<LeaseIdle> auto*) {
  return fields(
      {"lease_idle", "It has been idle since then, for long enough to say so; absent: it is not."},
      field("id", &LeaseIdle::id).required(), field("since", &LeaseIdle::since));
}

struct LeasePaused {
  LeaseId id;
  std::string reason = {};
  std::optional<Instant> until = {};
  std::optional<UnixMs> until_wall = {};
  std::optional<UserId> by = {};
};
constexpr auto fields_of(Is<LeasePaused> auto*) {
  return fields({"lease_paused",
                 "A user wants it to stay suspended or frozen: until they let it go on, or "
                 "for so long. Their last word counts."},
                field("id", &LeasePaused::id).required(), field("reason", &LeasePaused::reason),
                field("until", &LeasePaused::until), field("until", &LeasePaused::until_wall),
                field("by", &LeasePaused::by));
}

struct LeaseMoved {
  static constexpr bool kTellsGuard = true;
  LeaseId id;
  std::vector<DeviceId> devices;
  std::optional<UserId> by = {};
};
constexpr auto fields_of(Is<LeaseMoved> auto*) {
  return fields({"lease_moved",
                 "Its parts are on these devices from now on, in their order. Its memory is "
                 "in host memory, and returns there."},
                field("id", &LeaseMoved::id).required(),
                field("uuids", &LeaseMoved::devices).required(), field("by", &LeaseMoved::by));
}

/// The most that a lease has used of a device, as far as that is known.
struct Peak {
  DeviceId device;
  Bytes used;
  std::uint64_t refused = 0;  // Allocations that its budget did not allow.
};
constexpr auto fields_of(Is<Peak> auto*) {
  return fields({}, field("uuid", &Peak::device).required(),
                field("vram_peak", &Peak::used).required(), field("refused", &Peak::refused));
}
struct LeaseEnded {
  static constexpr bool kTellsGuard = true;
  LeaseId id;
  EndResult result = EndResult::kOk;
  std::vector<Peak> peaks = {};   // None for a device of which nothing was known.
  std::optional<UserId> by = {};  // Of one that had not begun to run.
};
constexpr auto fields_of(Is<LeaseEnded> auto*) {
  return fields({"lease_ended",
                 "Its memory is free. Of each device `peaks` has the most that was used, "
                 "and how many allocations were refused."},
                field("id", &LeaseEnded::id).required(),
                field("result", &LeaseEnded::result).required(), field("peaks", &LeaseEnded::peaks),
                field("by", &LeaseEnded::by));
}

struct CheckpointAsked {
  LeaseId id;
  std::uint64_t number = 0;
  CheckpointReason reason = CheckpointReason::kAsked;
};
constexpr auto fields_of(Is<CheckpointAsked> auto*) {
  return fields({"checkpoint_asked", "It was asked to save itself."},
                field("id", &CheckpointAsked::id).required(),
                field("number", &CheckpointAsked::number).required(),
                field("reason", &CheckpointAsked::reason).required());
}
struct CheckpointEnded {
  LeaseId id;
  std::uint64_t number = 0;
  CheckpointOutcome outcome = CheckpointOutcome::kFailed;
  std::string detail;
};
constexpr auto fields_of(Is<CheckpointEnded> auto*) {
  return fields({"checkpoint_ended", "How a save went."},
                field("id", &CheckpointEnded::id).required(),
                field("number", &CheckpointEnded::number).required(),
                field("outcome", &CheckpointEnded::outcome).required(),
                field("detail", &CheckpointEnded::detail));
}

struct RequeueAsked {
  LeaseId id;
  bool unsaved = false;  // Whatever comes of the save that it is asked for first.
  std::optional<UserId> by = {};
};
constexpr auto fields_of(Is<RequeueAsked> auto*) {
  return fields(
      {"requeue_asked", "It is to wait in the queue again, and its command to be started anew."},
      field("id", &RequeueAsked::id).required(), field("unsaved", &RequeueAsked::unsaved),
      field("by", &RequeueAsked::by));
}
struct RequeueBegun {
  LeaseId id;
  Instant kill_at;
};
constexpr auto fields_of(Is<RequeueBegun> auto*) {
  return fields({"requeue_begun",
                 "Its `berth run` stops the command, and what is left of it is killed at "
                 "`kill_at_ns`."},
                field("id", &RequeueBegun::id).required(),
                field("kill_at", &RequeueBegun::kill_at).required());
}
struct RequeueDropped {
  LeaseId id;
  EndResult result = EndResult::kLost;
};
constexpr auto fields_of(Is<RequeueDropped> auto*) {
  return fields({"requeue_dropped",
                 "It is not requeued after all. One whose command has ended has this "
                 "result; `lost`: what the end of the command says."},
                field("id", &RequeueDropped::id).required(),
                field("result", &RequeueDropped::result).required());
}
struct LeaseRequeued {
  static constexpr bool kTellsGuard = true;
  LeaseId id;
  std::optional<Retry> retry = {};  // Its command has failed; absent: it was stopped for that.
};
constexpr auto fields_of(Is<LeaseRequeued> auto*) {
  return fields({"lease_requeued",
                 "It waits again, behind those who asked before now. With `retry` its command has "
                 "failed, and is started again."},
                field("id", &LeaseRequeued::id).required(),
                field("retry", &LeaseRequeued::retry).left_out(side::kJournal));
}

struct MeasureBegun {
  LeaseId id;
  std::uint64_t number = 0;
  Measure measure = Measure::kNotify;
  Cause cause = Cause::kOverBudget;
  std::uint64_t save = 0;  // The number of the save that it is, or that comes first.
};
constexpr auto fields_of(Is<MeasureBegun> auto*) {
  return fields(
      {"measure_begun", "A measure is taken on it, because of pressure."},
      field("id", &MeasureBegun::id).required(), field("number", &MeasureBegun::number).required(),
      field("measure", &MeasureBegun::measure).required(),
      field("cause", &MeasureBegun::cause).required(), field("save", &MeasureBegun::save));
}
struct MeasureEnded {
  LeaseId id;
  std::uint64_t number = 0;
  MeasureOutcome outcome = MeasureOutcome::kFailed;
  std::string detail;
};
constexpr auto fields_of(Is<MeasureEnded> auto*) {
  return fields({"measure_ended", "How a measure went."}, field("id", &MeasureEnded::id).required(),
                field("number", &MeasureEnded::number).required(),
                field("outcome", &MeasureEnded::outcome).required(),
                field("detail", &MeasureEnded::detail));
}

struct MessageSent {
  LeaseId id;
  std::uint64_t number = 0;
  std::optional<UserId> from = {};  // Absent: the daemon.
  std::optional<LeaseId> whom = {};
  std::string text;
};
constexpr auto fields_of(Is<MessageSent> auto*) {
  return fields({"message_sent",
                 "A user asks something of its holder, or the daemon does: for "
                 "the request `for`."},
                field("id", &MessageSent::id).required(),
                field("number", &MessageSent::number).required(), field("from", &MessageSent::from),
                field("for", &MessageSent::whom), field("text", &MessageSent::text).required());
}
struct MessageAnswered {
  LeaseId id;
  std::uint64_t number = 0;
  MessageAnswer answer = MessageAnswer::kLapsed;
  std::string why = {};
  std::optional<UserId> by = {};
};
constexpr auto fields_of(Is<MessageAnswered> auto*) {
  return fields({"message_answered",
                 "What its holder said, or a rule of theirs; or nobody did "
                 "in time."},
                field("id", &MessageAnswered::id).required(),
                field("number", &MessageAnswered::number).required(),
                field("answer", &MessageAnswered::answer).required(),
                field("why", &MessageAnswered::why), field("by", &MessageAnswered::by));
}

}  // namespace berth
