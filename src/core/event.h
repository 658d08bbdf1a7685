// SPDX-License-Identifier: Apache-2.0
// All that can happen to the coordinator. The server makes events from sockets, timers, pidfds and
// the probe; the simulator makes them from a seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "core/settings.h"
#include "model/device.h"
#include "model/lease.h"
#include "model/request.h"
#include "model/transfer.h"

namespace berth::core {

/// Who waits for the answer to an event: chosen by the server, given back in Reply.
struct Token {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(const Token&, const Token&) = default;
};

/// Who asks, as the kernel names the peer of the socket.
struct Actor {
  UserId user;
  bool admin = false;
};

/// A request. The server draws the handle. The answer is the lease, waiting or granted. One that
/// waits hears the rest by Notify.
struct Submit {
  Token token;
  Actor actor;
  Handle handle;
  std::optional<Process> supervisor;  // The asker; for a lease with a ttl what it hangs on, if any.
  Request request;
};
/// The asker of a waiting or offered request is back in a new connection.
struct Reconnect {
  Token token;
  Actor actor;
  Handle handle;
  std::uint32_t restarts = 0;  // Of the run that it waits for: what was said for another is old.
};
/// The offer is taken up: the command stands ready and will start when this is answered.
struct Claim {
  Token token;
  Actor actor;
  Handle handle;
  Process command;
  std::uint32_t restarts = 0;
};
/// A further process belongs to the lease: told by who started it.
struct Join {
  Token token;
  Actor actor;
  Handle handle;
  Process process;
};
/// `berth run` has reaped the command. `leftovers` are its descendants still alive.
struct ReportExit {
  Token token;
  Actor actor;
  Handle handle;
  ExitStatus exit;
  std::vector<Process> leftovers;
  std::uint32_t restarts = 0;
};
/// Ends a lease; its memory stays charged until it is freed. `kill`: its processes are ended too.
/// Cancelling ends a waiting request, or a lease and its processes. Of one whose processes run, and
/// are not ended, it is refused unless they are to go on without it.
struct Release {
  Token token;
  Actor actor;
  LeaseId lease;
  bool kill = false;
  bool cancel = false;                    // The result is `cancelled`, and processes are ended.
  bool detach = false;                    // Its processes go on without it.
  std::optional<Process> requester = {};  // Its own command may release it.
};
struct Resize {
  Token token;
  Actor actor;
  LeaseId lease;
  Share share = Share::kBudget;
  Bytes vram;                        // On each device; ignored for kExclusive.
  std::optional<Duration> wait_max;  // Absent or 0: now or refused.
};
struct Renew {
  Token token;
  Actor actor;
  LeaseId lease;
  Duration ttl;
};
/// The program of a lease tells how far it is.
struct ReportProgress {
  Token token;
  Actor actor;
  LeaseId lease;
  std::uint64_t done = 0;
  std::optional<std::uint64_t> total = {};
  std::optional<Duration> left = {};  // Absent: by how fast it goes.
  std::string note = {};
};
/// Of a pause that somebody asked for.
struct PauseTerms {
  std::optional<Duration> lasts = {};  // Then it goes on by itself; absent: until he resumes it.
  std::string reason = {};             // For others to read.
};
/// Suspends a lease: the device memory of its processes is moved to the host and given to others.
/// Answered when that is so.
struct Suspend {
  Token token;
  Actor actor;
  LeaseId lease;
  PauseTerms terms = {};
};
/// Stops all processes of a lease, which keeps what it has. Answered when that is so.
struct Freeze {
  Token token;
  Actor actor;
  LeaseId lease;
  PauseTerms terms = {};
};
/// Answered when it runs again, for which it may have to wait for room.
struct Resume {
  Token token;
  Actor actor;
  LeaseId lease;
};
/// Has a lease go on on other devices, in the order of its parts. One that runs is suspended for
/// it, and this is answered when it runs again; one that is suspended stays so, and returns there.
struct Migrate {
  Token token;
  Actor actor;
  LeaseId lease;
  std::vector<DeviceName> to;
};
/// What came of the Transfer of that number.
struct TransferDone {
  LeaseId lease;
  std::uint64_t number = 0;
  TransferResult result;
};
/// A stopped asker sets its waiting request aside, or takes its place again.
struct Park {
  Token token;
  Actor actor;
  Handle handle;
  bool parked = true;
};
/// The program of a lease is to save itself. The answer is the lease, when that is over. Whoever
/// asks while it does so joins.
struct AskCheckpoint {
  Token token;
  Actor actor;
  LeaseId lease;
  std::optional<Duration> wait_max;  // Then the answer says that it is still under way. 0: at once.
};
/// `berth run` tells how a save went that it was asked for.
struct ReportCheckpoint {
  Token token;
  Actor actor;
  Handle handle;
  std::uint64_t number = 0;
  CheckpointOutcome outcome = CheckpointOutcome::kFailed;
  std::string detail;
};
/// A lease that was started with leave to is to be stopped, to wait in the queue and to be started
/// again. The answer is the lease when it waits. Who asks meanwhile joins.
struct AskRequeue {
  Token token;
  Actor actor;
  LeaseId lease;
  bool unsaved = false;  // Also if it does not save itself.
};
/// `berth run` was asked to stop its command for that, and is about to. It comes back by Reconnect
/// when nothing of the command is left.
struct BeginRequeue {
  Token token;
  Actor actor;
  Handle handle;
};
/// The connection over which a waiting request's asker listened is gone.
struct RequesterGone {
  LeaseId lease;
};
/// The connection of whoever waited for a growth is gone.
struct GrowthRequesterGone {
  LeaseId lease;
};
struct ProcessEnded {
  Process process;
};
/// A Signal was not sent: the process is another user's by now.
struct NotSignalled {
  LeaseId lease;
  Process process;
};
struct Sampled {
  Sample sample;
};
/// The instant asked for by WakeAt has come.
struct Woke {};
struct Configured {
  Settings settings;
};
/// Sent once after the last apply() and before anything else.
struct Recovered {
  bool same_boot = true;   // False: what the journal names ended with the machine.
  bool safe_mode = false;  // The journal was moved aside: nothing is granted.
};
/// A batch of records could not be written. `refused` are the leases whose asker was told so
/// instead of being answered; `granted` and `resized` those whose grant or new budget must be taken
/// back.
struct JournalFailed {
  std::string where;  // The file, for people.
  std::vector<LeaseId> refused;
  std::vector<LeaseId> granted;
  std::vector<LeaseId> resized = {};
};
struct JournalMended {};

using AnyEvent = std::variant<Submit, Reconnect, Claim, Join, ReportExit, Release, Resize, Renew,
                              ReportProgress, Suspend, Freeze, Resume, Migrate, TransferDone, Park,
                              AskCheckpoint, ReportCheckpoint, AskRequeue, BeginRequeue,
                              RequesterGone, GrowthRequesterGone, ProcessEnded, NotSignalled,
                              Sampled, Woke, Configured, Recovered, JournalFailed, JournalMended>;
/// As AnyEvent, but copied, moved and ended in one source file: elsewhere that is a call.
struct Event : AnyEvent {
  using AnyEvent::AnyEvent;
  Event(const Event& other);
  Event(Event&& other) noexcept;
  Event& operator=(const Event& other);
  Event& operator=(Event&& other) noexcept;
  ~Event();
};

/// The moment of an event.
struct Now {
  Instant instant;
  UnixMs wall;
};

}  // namespace berth::core
