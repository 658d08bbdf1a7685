// SPDX-License-Identifier: Apache-2.0
// Records are facts that were decided. They are all that survives a daemon: recovery is applying
// them in order. Each is complete in itself. None holds a measurement but the last of a lease, and
// that one decides nothing: see Note [A peak is an outcome].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/checkpoint.h"
#include "model/ladder.h"
#include "model/lease.h"
#include "model/request.h"

namespace berth {

/// One device's budget in a grant.
struct Part {
  DeviceId device;
  Bytes budget;
  friend constexpr auto operator<=>(const Part&, const Part&) = default;
};

struct RequestQueued {
  LeaseId id;
  Handle handle;
  UserId user;
  std::optional<Process> supervisor;
  Request request;
};
/// The first time that a later request was granted before this one.
struct RequestPassed {
  LeaseId id;
};
struct RequestParked {
  LeaseId id;
  bool parked = true;  // False: it is back in its place.
};
/// A grant is an offer until it is claimed.
struct LeaseGranted {
  LeaseId id;
  std::vector<Part> parts;  // In PCI order.
  bool passed_others = false;
};
/// The offer was not taken up, or could not be written: the request is back in its place.
struct OfferLapsed {
  LeaseId id;
  bool parked = true;
};
struct LeaseClaimed {
  LeaseId id;
  std::optional<Process> command;  // Absent: a lease without a process.
};
struct MemberSeen {
  LeaseId id;
  Process process;
};
struct MemberGone {
  LeaseId id;
  Process process;
};
/// The command ended; further members may still hold the lease.
struct CommandEnded {
  LeaseId id;
  std::optional<ExitStatus> exit;  // Absent: nobody was there to see it.
};
struct LeaseResized {
  LeaseId id;
  Share share = Share::kBudget;
  std::vector<Part> parts;
};
/// A growth that waits for room.
struct GrowthQueued {
  LeaseId id;
  Bytes vram;  // On each device.
  std::optional<Instant> until;
};
struct GrowthDropped {
  LeaseId id;
};
struct LeaseRenewed {
  LeaseId id;
  Instant expires;
  UnixMs expires_wall;
};
/// Somebody asked it to end: SIGTERM was sent, SIGKILL follows at `kill_at`.
struct LeaseRevoked {
  LeaseId id;
  EndResult result = EndResult::kCancelled;
  Instant kill_at;
  std::optional<UserId> by = {};
};
/// No budget any more; charged what its processes still use.
struct LeaseReleasing {
  LeaseId id;
  EndResult result = EndResult::kOk;
  std::optional<UserId> by = {};
};
// Note [A peak is an outcome]
//
// Records hold no measurement, so that what is decided from them does not depend on when somebody
// looked. The highest use of a lease is told when it ends, with its result: it is how the run went,
// as an exit status is, and what later runs of the same command are judged by. No lease that lives
// is changed by it.

/// Its memory begins to be moved to the host. What its processes use stays charged.
struct SuspendBegun {
  LeaseId id;
  std::vector<Bytes> used;                // On each of its devices, in the order of its parts.
  std::optional<LeaseId> yields_to = {};  // The urgent request for which it makes room.
  bool turn = false;  // Its turn is over: it waits for the next one as soon as it is away.
};
/// All of it is there: it is charged nothing.
struct LeaseSuspended {
  LeaseId id;
  std::vector<Bytes> used = {};  // What has left each of its devices. Empty: nobody measured it.
};
/// Somebody wants it to go on, as soon as there is room; or nobody does any more.
struct ResumeQueued {
  LeaseId id;
  bool queued = true;
};
/// Its budgets are its own again, and its memory begins to be moved back.
struct ResumeBegun {
  LeaseId id;
};
/// It runs, after a suspension or because one came to nothing.
struct LeaseResumed {
  LeaseId id;
};

/// All its processes are to be stopped, until somebody lets it go on. Its memory stays where it is.
struct LeaseFrozen {
  LeaseId id;
};
/// None of them is kept stopped any more.
struct LeaseThawed {
  LeaseId id;
};

/// Somebody wants it to stay away, or stopped: until he lets it go on, or for so long. His last
/// word counts.
struct LeasePaused {
  LeaseId id;
  std::string reason = {};
  std::optional<Instant> until = {};
  std::optional<UnixMs> until_wall = {};
  std::optional<UserId> by = {};
};

/// Its parts are on these from now on, in their order. Its memory is in host memory, and returns
/// there.
struct LeaseMoved {
  LeaseId id;
  std::vector<DeviceId> devices;
  std::optional<UserId> by = {};
};

/// The most that a lease has used of a device, as far as that is known.
struct Peak {
  DeviceId device;
  Bytes used;
  std::uint64_t refused = 0;  // Allocations that its budget did not allow.
};
struct LeaseEnded {
  LeaseId id;
  EndResult result = EndResult::kOk;
  std::vector<Peak> peaks = {};   // None for a device of which nothing was known.
  std::optional<UserId> by = {};  // Of one that had not begun to run.
};

/// It was asked to save itself, and how that went.
struct CheckpointAsked {
  LeaseId id;
  std::uint64_t number = 0;
  CheckpointReason reason = CheckpointReason::kAsked;
};
struct CheckpointEnded {
  LeaseId id;
  std::uint64_t number = 0;
  CheckpointOutcome outcome = CheckpointOutcome::kFailed;
  std::string detail;
};

/// It is to wait in the queue again, and its command to be started anew.
struct RequeueAsked {
  LeaseId id;
  bool unsaved = false;  // Whatever comes of the save that it is asked for first.
  std::optional<UserId> by = {};
};
/// Its `berth run` stops the command, and what is left of it is killed at `kill_at`.
struct RequeueBegun {
  LeaseId id;
  Instant kill_at;
};
/// It is not requeued after all. One whose command has ended has this result: kLost, what the end
/// of the command says.
struct RequeueDropped {
  LeaseId id;
  EndResult result = EndResult::kLost;
};
/// It waits again, behind those who asked before now.
struct LeaseRequeued {
  LeaseId id;
};

/// A measure is taken on it, because of pressure.
struct MeasureBegun {
  LeaseId id;
  std::uint64_t number = 0;
  Measure measure = Measure::kNotify;
  Cause cause = Cause::kOverBudget;
  std::uint64_t save = 0;  // The number of the save that it is, or that comes first.
};
struct MeasureEnded {
  LeaseId id;
  std::uint64_t number = 0;
  MeasureOutcome outcome = MeasureOutcome::kFailed;
  std::string detail;
};

/// The whole of one lease, or of an ended one kept for `show`: what a snapshot is made of.
struct LeaseRestored {
  LeaseView view;
  Instant queued_instant;
  std::uint64_t queued_sequence = 0;
  std::optional<Instant> granted_instant;
  std::uint64_t granted_sequence = 0;
  std::optional<Instant> passed_since;
  std::optional<Instant> parked_since;
  std::optional<Instant> expires;
  std::optional<Instant> kill_at;
  std::optional<Instant> releasing_since;
  std::optional<GrowthQueued> growth;
  std::optional<Instant> growth_queued;
  std::optional<Instant> checkpoint_asked;  // The last time.
  std::optional<SuspendBegun> suspension;
  std::optional<Instant> suspended_since;
  std::optional<Instant> resume_queued;
  std::uint64_t resume_sequence = 0;
  std::optional<Instant> runs_since;  // It was granted, or came back the last time.
  Duration away;                      // How long it was suspended before.
  std::optional<RequeueAsked> requeue;
  std::optional<Instant> requeue_kill_at;
  std::optional<Instant> pause_ends;
  std::optional<std::vector<DeviceId>> moved_from;  // Where its memory was when it left.
  Duration waited_before;                           // Before it was requeued the last time.
  std::vector<Process> departed;  // Of it, and the driver may still list them. Oldest first.
  // The small ones beside each other, where they leave the fewest gaps.
  bool passed_others = false;
  bool claimed = false;
  bool command_ended = false;
  std::optional<EndResult> ending;  // The result it will have.
  bool suspended = false;           // Else its memory is on the way to the host.
  bool resume_begun = false;
  bool frozen = false;
};
/// Granted byte-seconds of a user's session, decayed to the instant of the record.
struct UsageRestored {
  UserId user;
  std::string session;
  double byte_seconds = 0;
  Instant at;
};
/// How much one run of a command used of a device, at most.
struct PastRun {
  Bytes peak;
  bool refused = false;  // It wanted more than its budget.
};
/// What is known of the runs of one command of a user.
struct CommandRestored {
  UserId user;
  std::uint64_t fingerprint = 0;  // Of the command line.
  std::vector<PastRun> runs;      // Oldest first.
};
struct CountersRestored {
  std::uint64_t next_id = 1;
  std::uint64_t last_sequence = 0;  // Of the records that the snapshot replaces.
};

using AnyFact =
    std::variant<RequestQueued, RequestPassed, RequestParked, LeaseGranted, OfferLapsed,
                 LeaseClaimed, MemberSeen, MemberGone, CommandEnded, LeaseResized, GrowthQueued,
                 GrowthDropped, LeaseRenewed, LeaseRevoked, LeaseReleasing, LeaseEnded,
                 CheckpointAsked, CheckpointEnded, LeaseRestored, UsageRestored, CommandRestored,
                 CountersRestored, SuspendBegun, LeaseSuspended, ResumeQueued, ResumeBegun,
                 LeaseResumed, RequeueAsked, RequeueBegun, RequeueDropped, LeaseRequeued,
                 LeaseFrozen, LeaseThawed, MeasureBegun, MeasureEnded, LeasePaused, LeaseMoved>;
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

/// "request_queued" and so on: the word in the journal.
std::string_view name_of(const Fact& fact);

}  // namespace berth
