// SPDX-License-Identifier: Apache-2.0
// A lease as everyone outside the coordinator sees it: the words of its state, its flags and its
// figures. Made by the coordinator on demand; changing one changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "base/words.h"
#include "model/checkpoint.h"
#include "model/ladder.h"
#include "model/request.h"

namespace berth {

enum class LeaseState : std::uint8_t { kWaiting, kHeld, kSuspended, kReleasing, kEnded };
constexpr auto words_of(LeaseState) {
  using enum LeaseState;
  return make_words<LeaseState>({{kWaiting, "waiting"},
                                 {kHeld, "held"},
                                 {kSuspended, "suspended"},
                                 {kReleasing, "releasing"},
                                 {kEnded, "ended"}});
}
enum class EndResult : std::uint8_t {
  kOk,
  kFailed,
  kKilled,
  kCancelled,
  kLimit,
  kRefused,
  kLost,
  kOverBudget,  // Ended for using more than its budget, as it had asked for.
  kDetached,    // Released by somebody while its command ran, which goes on without it.
};
constexpr auto words_of(EndResult) {
  using enum EndResult;
  return make_words<EndResult>({{kOk, "ok"},
                                {kFailed, "failed"},
                                {kKilled, "killed"},
                                {kCancelled, "cancelled"},
                                {kLimit, "limit"},
                                {kRefused, "refused"},
                                {kLost, "lost"},
                                {kOverBudget, "over_budget"},
                                {kDetached, "detached"}});
}

/// How near memory is to its end: of a lease, to its budget; of a device, to a point where an
/// allocation inside a budget fails.
enum class Pressure : std::uint8_t { kNormal, kWarn, kCritical };
constexpr auto words_of(Pressure) {
  using enum Pressure;
  return make_words<Pressure>({{kNormal, "normal"}, {kWarn, "warn"}, {kCritical, "critical"}});
}

/// How a command ended: exit status, or the signal that killed it.
struct ExitStatus {
  std::int32_t code = 0;
  std::int32_t signal = 0;  // 0: it exited by itself.
  friend constexpr auto operator<=>(const ExitStatus&, const ExitStatus&) = default;
};

struct LeaseFlags {
  bool over_budget = false;
  bool parked = false;
  bool revoking = false;
  bool degraded = false;
  bool unclaimed = false;      // Granted, and the asker has not taken it up yet.
  bool astray = false;         // A process of it uses a device that it was not given.
  bool full = false;           // An allocation in it waits for room in its budget.
  bool checkpointing = false;  // It was asked to save itself, and is not over with it.
  bool suspending = false;     // Its memory is on the way to the host.
  bool resuming = false;       // It waits for room, or its memory is on the way back.
  bool requeuing = false;      // It is on the way back into the queue.
  bool frozen = false;         // All its processes are stopped.
  friend constexpr auto operator<=>(const LeaseFlags&, const LeaseFlags&) = default;
};

/// How far a lease has come on its way back into the queue.
enum class RequeueStep : std::uint8_t {
  kSaving,    // Its program was asked to save itself.
  kAsked,     // Its `berth run` was asked to stop the command.
  kStopping,  // It does.
  kStopped,   // The memory is not free yet, or `berth run` not back.
};
constexpr auto words_of(RequeueStep) {
  using enum RequeueStep;
  return make_words<RequeueStep>(
      {{kSaving, "saving"}, {kAsked, "asked"}, {kStopping, "stopping"}, {kStopped, "stopped"}});
}

/// One device's part of a lease.
struct LeasePart {
  DeviceId device;
  std::optional<std::uint32_t> index;  // Absent while the device is not seen.
  Bytes granted;
  std::optional<Bytes> used;                  // As the driver tells.
  std::optional<Bytes> peak;                  // By whichever account is the higher.
  std::optional<Bytes> ledger = {};           // As its programs have charged it.
  std::optional<std::int64_t> drift = {};     // Bytes that the driver told beyond that, at rest.
  std::optional<std::uint64_t> refused = {};  // Allocations that the budget did not allow.
  std::optional<Bytes> wanted = {};           // By those that wait for room in it.
};

/// A process of a lease on a device that the lease was not given.
struct Stray {
  Process process;
  std::string name;
  DeviceId device;
  std::optional<std::uint32_t> index;
  std::optional<Bytes> used;
};

/// Somebody wants it to stay away, or stopped, until he lets it go on.
struct Pause {
  UnixMs since;
  std::string reason = {};  // His; empty: he gave none.
  std::optional<UnixMs> until = {};
  std::optional<UserId> by = {};  // Absent: an older daemon wrote it down.
  friend bool operator==(const Pause&, const Pause&) = default;
};

/// Why a lease that was granted is suspended or frozen, and for whom.
struct Halt {
  enum class Reason : std::uint8_t {
    kPaused,       // Somebody asked for it: LeaseView::pause.
    kYields,       // It makes room for `lease`.
    kTurn,         // Its turn is over.
    kMoves,        // It goes on on other devices.
    kMeasure,      // A measure for `cause`.
    kReturns,      // It is let go on, and waits for room or is on its way back.
    kNotReturned,  // It could not be brought back, and nobody tries again unasked.
  };
  Reason reason = Reason::kPaused;
  UnixMs since;
  std::optional<Cause> cause = {};
  std::optional<LeaseId> lease = {};  // For which it left. The rest is of that one.
  UserId user = {};
  std::string name = {};
  Priority priority = Priority::kNormal;
  friend bool operator==(const Halt&, const Halt&) = default;
};
constexpr auto words_of(Halt::Reason) {
  using enum Halt::Reason;
  return make_words<Halt::Reason>({{kPaused, "paused"},
                                   {kYields, "yields"},
                                   {kTurn, "turn"},
                                   {kMoves, "moves"},
                                   {kMeasure, "measure"},
                                   {kReturns, "returns"},
                                   {kNotReturned, "not_returned"}});
}

/// How far its program says that it is.
struct Progress {
  std::uint64_t done = 0;
  std::optional<std::uint64_t> total = {};
  std::optional<Duration> left = {};  // From `at` on: told, or by how fast it went.
  std::string note = {};              // Its own words, for people.
  UnixMs at = {};
  friend bool operator==(const Progress&, const Progress&) = default;
};

struct LeaseView {
  LeaseId id;
  Handle handle;
  UserId user;
  Request request;
  LeaseState state = LeaseState::kWaiting;
  LeaseFlags flags;
  Pressure pressure = Pressure::kNormal;
  std::optional<Duration> full_in;              // At the rate at which its use grows.
  std::optional<EndResult> result;              // When ended, or as soon as it is certain.
  std::optional<ExitStatus> exit;               // Of the command, where it is known.
  std::optional<Process> command;               // The process the lease stands for.
  std::optional<Process> supervisor;            // `berth run` itself.
  std::vector<Process> members;                 // Further processes that belong to it.
  std::vector<LeasePart> parts;                 // In PCI order; empty while waiting.
  std::vector<Stray> strays;                    // What they use of other devices.
  std::optional<std::uint32_t> queue_position;  // 1 is next; only while waiting.
  UnixMs queued_at;
  std::optional<UnixMs> started_at;
  std::optional<UnixMs> ended_at;
  std::optional<UnixMs> expected_end;  // By eta, limit and progress; absent: unknown.
  std::optional<UnixMs> expires_at;    // Of a lease without a process.
  std::optional<UnixMs> turn_ends_at;  // Somebody waits for it, and it does then.
  Duration waited;                     // In all, where it was requeued.
  Checkpoints checkpoints;
  std::vector<MeasureTaken> measures;  // The last of each kind, in order of their numbers.
  std::uint32_t restarts = 0;          // How often its command was started again.
  std::optional<RequeueStep> requeue = {};
  std::optional<Pause> pause = {};
  std::optional<Halt> halt = {};
  std::optional<UserId> moved_by = {};  // On the way to other devices, until it runs there.
  std::optional<UserId> ended_by = {};  // Who released or cancelled it; absent: nobody did.
  /// Who wants it to wait in the queue again, until it does; absent: a measure, or nobody does.
  std::optional<UserId> requeued_by = {};
  /// Pids of processes of it that are another user's: the last pause, or end, left them alone.
  std::vector<std::int32_t> left_alone = {};
  std::optional<Progress> progress = {};
};

/// It is being stopped to wait in the queue again, and its `berth run` comes back for that.
inline bool comes_back(const LeaseView& lease) {
  return lease.requeue == RequeueStep::kStopping || lease.requeue == RequeueStep::kStopped;
}

/// The flags that are set, as words: "over_budget", "parked", …
std::vector<std::string_view> words(const LeaseFlags& flags);

}  // namespace berth
