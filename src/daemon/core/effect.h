// SPDX-License-Identifier: Apache-2.0
// All effects that the coordinator can want performed. They are performed in order; those
// that notify come after the records they depend on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/boxed.h"
#include "base/ids.h"
#include "base/units.h"
#include "base/words.h"
#include "core/event.h"
#include "model/lease.h"
#include "model/record.h"
#include "model/refusal.h"
#include "model/transfer.h"
#include "model/view.h"

namespace berth::core {

struct Append {
  Record record;
};
/// Answers one event that carried a token; each such event is answered exactly once, not
/// necessarily at once (a growth that waits).
struct Reply {
  using Answer = std::variant<Boxed<LeaseView>, Refusal>;
  Token token;
  Answer answer;
};
enum class LeaseEvent : std::uint8_t {
  kGranted,  // To the requester: an offer, to be claimed.
  kEnded,    // The view says with which result.
  kParked,
  kUnparked,
  kResized,
  kOverBudget,
  kInBudget,      // Again.
  kFull,          // An allocation in it waits for room in its budget.
  kNotFull,       // Not any more.
  kDegraded,      // A device of the lease is lost.
  kRevoked,       // SIGTERM was sent.
  kAstray,        // A process of the lease uses a device that the lease was not given.
  kCheckpoint,    // To be saved: the view says by which number.
  kCheckpointed,  // Over: the view says how.
  kPressure,      // Its pressure has risen or fallen.
  kSuspended,
  kResumed,
  kRequeue,         // To be stopped by its `berth run`, which says when it begins.
  kRequeuing,       // It begins.
  kRequeued,        // It waits again.
  kRequeueDropped,  // It is not requeued; the refusal says why.
  kQueued,          // It was asked for, and waits. The server notes it with its answer.
  kFrozen,
  kMeasure,          // One is taken on it, or is over: the view says which, and how.
  kDetached,         // Its programs go on without it.
  kMessageSent,      // Something is asked of its holder: the view says what,
  kMessageAnswered,  // and what was said to that.
};
/// As streams name it: wire::EventName has the same words, and others.
constexpr auto words_of(LeaseEvent) {
  using enum LeaseEvent;
  return make_words<LeaseEvent>({{kGranted, "granted"},
                                 {kEnded, "ended"},
                                 {kParked, "parked"},
                                 {kUnparked, "unparked"},
                                 {kResized, "resized"},
                                 {kOverBudget, "over_budget"},
                                 {kInBudget, "in_budget"},
                                 {kFull, "full"},
                                 {kNotFull, "not_full"},
                                 {kDegraded, "degraded"},
                                 {kRevoked, "revoked"},
                                 {kAstray, "astray"},
                                 {kCheckpoint, "checkpoint"},
                                 {kCheckpointed, "checkpointed"},
                                 {kPressure, "pressure"},
                                 {kSuspended, "suspended"},
                                 {kResumed, "resumed"},
                                 {kRequeue, "requeue"},
                                 {kRequeuing, "requeuing"},
                                 {kRequeued, "requeued"},
                                 {kRequeueDropped, "requeue_dropped"},
                                 {kQueued, "queued"},
                                 {kFrozen, "frozen"},
                                 {kMeasure, "measure"},
                                 {kDetached, "detached"},
                                 {kMessageSent, "message_sent"},
                                 {kMessageAnswered, "message_answered"}});
}
/// News for all that listen to this lease. `refusal` says why, where a waiting request ends without
/// a grant.
struct Notify {
  LeaseId lease;
  LeaseEvent news = LeaseEvent::kGranted;
  std::vector<Refusal> refusal;  // One or none.
};
/// News for all that listen to everything.
struct NotifyUnmanaged {
  UnmanagedNews news;
};
/// The pressure on a device has risen or fallen.
struct NotifyDevice {
  DeviceId device;
};
/// Watch a process by pidfd; one that is gone already is reported by ProcessEnded at once.
struct Watch {
  Process process;
};
struct Unwatch {
  Process process;
};
/// Send a signal through the pidfd, never by pid, and only if this user could have sent it.
struct Signal {
  Process process;
  std::int32_t signal = 0;
  UserId user;  // Whose lease it is.
  LeaseId lease = {};
};
/// Ask the probe at this instant, or as soon as it is free. Regular sampling goes on beside it.
struct AskProbe {
  Instant at;
};
/// Send Woke at this instant. Replaces the earlier one.
struct WakeAt {
  Instant at;
};
/// What the driver counts of a lease beyond what its programs have charged is used all the same:
/// they may charge that much less.
struct SetUnaccounted {
  Handle lease;
  std::vector<Bytes> bytes;  // Of each of its parts.
  /// Of each: with this, programs may give back what they have charged too much for contexts.
  std::vector<bool> may_give_back;
};
/// Move the device memory of those of these processes that use a device; or stop them, and all
/// below them and below the supervisor, or let these go on. What the user could not signal
/// themselves is left alone. Moved follows, once.
struct Transfer {
  LeaseId lease;
  Handle handle;
  UserId user;  // Whose lease it is.
  std::uint64_t number = 0;
  Direction direction = Direction::kSwapOut;
  std::vector<Process> processes;
  Bytes bytes;                             // About as much, on all devices together.
  std::optional<Process> supervisor = {};  // `berth run`; it is never stopped itself.
  std::vector<DevicePair> pairs = {};      // Back to other devices; none: to where it was.
  bool measure = false;                    // What leaves: nothing else will tell.
};
/// Something an operator should read in the log.
struct Say {
  std::string text;
};

using AnyEffect = std::variant<Append, Reply, Notify, NotifyUnmanaged, NotifyDevice, Watch, Unwatch,
                               Signal, AskProbe, WakeAt, SetUnaccounted, Transfer, Say>;
/// As AnyEffect, but copied, moved and ended in one source file: elsewhere that is a call.
struct Effect : AnyEffect {
  using AnyEffect::AnyEffect;
  Effect(const Effect& other);
  Effect(Effect&& other) noexcept;
  Effect& operator=(const Effect& other);
  Effect& operator=(Effect&& other) noexcept;
  ~Effect();
};

}  // namespace berth::core
