// SPDX-License-Identifier: Apache-2.0
// A lease as everyone outside the coordinator sees it: the words of its state, its flags and its
// figures. Made by the coordinator on demand; changing one changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/ids.h"
#include "base/units.h"
#include "base/words.h"
#include "model/check_again.h"
#include "model/checkpoint.h"
#include "model/ladder.h"
#include "model/lease_part.h"
#include "model/message.h"
#include "model/pause.h"
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
  kDetached,    // Released while its command ran, which goes on without it.
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
constexpr auto fields_of(Is<ExitStatus> auto*) {
  return fields(
      {}, field("code", &ExitStatus::code, "The exit status; 0 with a signal.").required().to(255),
      field("signal", &ExitStatus::signal, "That killed the command; 0: it exited by itself.")
          .required(side::kJournal)
          .written(side::kBody)
          .to(64));
}

/// What else is known of the end of a command. kOutOfMemory: its budget had refused it memory.
/// kFinal: it was not started, or its user has ended it, and it is not started again. kShutdown: it
/// was ended with the machine, and is started again if it may be requeued.
enum class EndKind : std::uint8_t { kPlain, kOutOfMemory, kFinal, kShutdown };
constexpr auto words_of(EndKind) {
  using enum EndKind;
  return make_words<EndKind>({{kPlain, "plain"},
                              {kOutOfMemory, "out_of_memory"},
                              {kFinal, "final"},
                              {kShutdown, "shutdown"}});
}

/// The next attempt of a command that has failed.
struct Retry {
  UnixMs not_before;
  std::optional<Bytes> vram = {};  // On each device: more than before, since that was too little.
  friend bool operator==(const Retry&, const Retry&) = default;
};
constexpr auto fields_of(Is<Retry> auto*) {
  return fields(
      {"Retry", "The next attempt of a command that has failed."},
      field("not_before", &Retry::not_before, "It does not start before this.").required(),
      field("vram", &Retry::vram,
            "On each GPU, if it has more since it ran out of memory; else null."));
}

/// Of a command that may be started again when it fails.
struct Retries {
  std::uint32_t left = 0;
  bool grown = false;                // Once, since its budget was too small.
  EndKind kind = EndKind::kPlain;    // Of the run that has ended.
  std::optional<ExitStatus> failed;  // How the last attempt did that was followed by another.
  std::optional<Retry> next = {};    // It has failed, and is started again.
  friend bool operator==(const Retries&, const Retries&) = default;
};
constexpr auto fields_of(Is<Retries> auto*) {
  return fields(
      {"Retries", "Of a command that may be started again when it fails."},
      field("left", &Retries::left, "So many times more.").required(),
      field("grown", &Retries::grown,
            "It was started again with more memory, since it had run out of it."),
      kept("kind", &Retries::kind),
      field("failed", &Retries::failed, "How the attempt before ended; null: it is the first."),
      field("next", &Retries::next, "Its command has failed, and is started again; else null.")
          .left_out(side::kJournal));
}

struct LeaseFlags {
  bool over_budget = false;
  bool parked = false;
  bool on_hold = false;  // It is not granted before a user lets it.
  bool revoking = false;
  bool degraded = false;
  bool unclaimed = false;      // Granted, and the requester has not taken it up yet.
  bool astray = false;         // A process of it uses a device that it was not given.
  bool full = false;           // An allocation in it waits for room in its budget.
  bool checkpointing = false;  // It was asked to save itself, and is not over with it.
  bool suspending = false;     // Its memory is on the way to the host.
  bool resuming = false;       // It waits for room, or its memory is on the way back.
  bool requeuing = false;      // It is on the way back into the queue.
  bool frozen = false;         // All its processes are stopped.
  bool message = false;        // Its holder was asked something, and has not answered.
  friend constexpr auto operator<=>(const LeaseFlags&, const LeaseFlags&) = default;
};
/// The journal has those that a lease which has ended may have.
constexpr auto fields_of(Is<LeaseFlags> auto*) {
  return fields({}, field("over_budget", &LeaseFlags::over_budget),
                field("parked", &LeaseFlags::parked), told("on_hold", &LeaseFlags::on_hold),
                field("revoking", &LeaseFlags::revoking), field("degraded", &LeaseFlags::degraded),
                field("unclaimed", &LeaseFlags::unclaimed), told("astray", &LeaseFlags::astray),
                field("full", &LeaseFlags::full),
                field("checkpointing", &LeaseFlags::checkpointing),
                told("suspending", &LeaseFlags::suspending),
                told("resuming", &LeaseFlags::resuming), told("requeuing", &LeaseFlags::requeuing),
                told("frozen", &LeaseFlags::frozen), told("message", &LeaseFlags::message));
}

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

/// How far its program says that it is.
struct Progress {
  std::uint64_t done = 0;
  std::optional<std::uint64_t> total = {};
  std::optional<Duration> left = {};  // From `at` on: told, or by how fast it went.
  std::string note = {};              // Its own words, for people.
  std::optional<double> loss = {};    // Of the last step of a training.
  std::string phase = {};             // What it does now, in a word of its own.
  UnixMs at = {};
  friend bool operator==(const Progress&, const Progress&) = default;
};
constexpr auto fields_of(Is<Progress> auto*) {
  return fields(
      {"LeaseProgress", "What a program has told of itself."},
      field("done", &Progress::done, "In whatever it counts."),
      field("total", &Progress::total, "Of how much; null: it has not said."),
      field("left", &Progress::left,
            "How long the rest takes from then on, as told or by how fast it went; null: unknown."),
      field("note", &Progress::note, "Its own words; null where the command is not shown either.")
          .kept_from(Secret::kCommand),
      field("loss", &Progress::loss, "Of the last step of a training; null: it has not said.")
          .kept_from(Secret::kCommand),
      field("phase", &Progress::phase, "What it does now, in a word of its own.")
          .kept_from(Secret::kCommand),
      field("time", &Progress::at, "When it said so."));
}

/// What was told at one time.
struct ProgressPoint {
  UnixMs at;
  std::uint64_t done = 0;
  std::optional<double> loss = {};
  std::string phase = {};
  friend bool operator==(const ProgressPoint&, const ProgressPoint&) = default;
};
constexpr auto fields_of(Is<ProgressPoint> auto*) {
  return fields({"ProgressPoint", "What a program told of itself at one time."},
                field("time", &ProgressPoint::at, "When it said so."),
                field("done", &ProgressPoint::done, "In whatever it counts."),
                field("loss", &ProgressPoint::loss, "Of the last step of a training."),
                field("phase", &ProgressPoint::phase, "What it did then."));
}
struct ProgressCourse {
  std::vector<ProgressPoint> points;  // Oldest first; limits::kProgressPoints at most.
};
constexpr auto fields_of(Is<ProgressCourse> auto*) {
  return fields({"ProgressCourse", "What a program has told of itself, from the beginning.",
                 "berth/progress/v1"},
                field("items", &ProgressCourse::points,
                      "Oldest first; of a long run fewer, as far from one another as they must."));
}

/// How far a set has come.
struct SetProgress {
  std::uint32_t begun = 0;   // Members that were asked for.
  std::uint32_t ended = 0;   // Of these.
  std::uint32_t failed = 0;  // Of these: otherwise than well.
  friend bool operator==(const SetProgress&, const SetProgress&) = default;
};
constexpr auto fields_of(Is<SetProgress> auto*) {
  return fields({"SetProgress", "How far a set has come."},
                field("begun", &SetProgress::begun, "Members that were asked for."),
                field("ended", &SetProgress::ended, "Of these, those that have ended."),
                field("failed", &SetProgress::failed, "Of these, those that did not end well."));
}

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
  std::optional<UnixMs> expected_end;     // By eta, limit and progress; absent: unknown.
  std::optional<UnixMs> expires_at;       // Of a lease without a process.
  std::optional<UnixMs> turn_ends_at;     // Another lease waits for it, and it does then.
  std::optional<UnixMs> idle_since = {};  // Absent: it is not idle, or not known to be.
  Duration waited;                        // In all, where it was requeued.
  Checkpoints checkpoints;
  std::vector<MeasureTaken> measures;  // The last of each kind, in order of their numbers.
  std::vector<Message> messages = {};  // To its holder, in order of their numbers.
  std::uint32_t restarts = 0;          // How often its command was started again.
  std::optional<RequeueStep> requeue = {};
  std::optional<Pause> pause = {};
  std::optional<OnHold> hold = {};
  bool job = false;
  std::optional<SetProgress> set = {};
  std::optional<Retries> retries = {};
  std::optional<Halt> halt = {};
  std::optional<UserId> moved_by = {};  // On the way to other devices, until it runs there.
  std::optional<UserId> ended_by = {};  // Who released or cancelled it; absent: nobody did.
  /// Who wants it to wait in the queue again, until it does; absent: a measure, or nobody does.
  std::optional<UserId> requeued_by = {};
  /// Pids of processes of it that are another user's: the last pause, or end, left them alone.
  std::vector<std::int32_t> left_alone = {};
  std::optional<Progress> progress = {};
};

/// On how many devices it is to be.
std::uint32_t devices_wanted(const Request& request);
// As a LeaseView is told, and read back: figures of all devices together, absent where one is.
std::optional<Bytes> vram_requested(const LeaseView& lease);
void set_vram_requested(LeaseView& lease, Bytes sum);
std::optional<Bytes> vram_granted(const LeaseView& lease);
std::optional<Bytes> vram_used(const LeaseView& lease);
std::optional<Bytes> vram_peak(const LeaseView& lease);
std::optional<Bytes> vram_ledger(const LeaseView& lease);
std::optional<Retry> next_attempt_of(const LeaseView& lease);   // Absent: none is certain.
std::optional<std::int32_t> exit_code(const LeaseView& lease);  // Unless a signal killed it.
std::optional<std::int32_t> exit_signal(const LeaseView& lease);
std::optional<std::int32_t> command_pid(const LeaseView& lease);
std::optional<std::int32_t> supervisor_pid(const LeaseView& lease);
std::vector<std::int32_t> member_pids(const LeaseView& lease);
void set_member_pids(LeaseView& lease, const std::vector<std::int32_t>& pids);

/// How the program of a lease can be asked to save itself, and what became of it.
struct LeaseCheckpoint {
  CheckpointWay way;
  Checkpoints saves;
};
constexpr auto fields_of(Is<LeaseCheckpoint> auto*) {
  return fields(
      {"LeaseCheckpoint", "How a program can be asked to save itself, and what became of it."},
      all_fields(&LeaseCheckpoint::way), all_fields(&LeaseCheckpoint::saves));
}
std::optional<LeaseCheckpoint> checkpoint_of(const LeaseView& lease);
void set_checkpoint(LeaseView& lease, LeaseCheckpoint checkpoint);

// The fields of a LeaseView, in groups.
template <class L = LeaseView, class R = Request>
constexpr auto lease_who() {
  return fields(
      {"Lease", "A request and the lease it becomes. Unknown is null, never 0."},
      field("id", &L::id, "Its number: one sequence for the daemon's state, never used again.")
          .required()
          .from(1),
      field("handle", &L::handle,
            "Its unguessable name: 'l_' and 26 letters. Null for whom it is a secret.")
          .required(side::kJournal)
          .kept_from(Secret::kHandle),
      told("name", &L::request, &R::name, kAsAsked),
      field("user", &L::user, "Whose it is; null where the uid has no name here.")
          .called("user_id", side::kJournal)
          .required(),
      kept("request", &L::request).required(), told("session", &L::request, &R::session, kAsAsked));
}
template <class L = LeaseView, class R = Request>
constexpr auto lease_state() {
  return fields(
      {}, field("state", &L::state, "Where it stands.").required(),
      field("flags", &L::flags, "What else is so.").as_words(),
      told("pressure", &L::pressure, "How near its use is to its budget."),
      told("full_in", &L::full_in,
           "When its budget will be used up if its use grows on as it does; null: not within a "
           "day."),
      field("result", &L::result, "How it ended; null before."),
      field("restarts", &L::restarts, "How often its command was started again.")
          .journal_after("measures"),
      told("requeue", &L::requeue,
           "How far it has come on its way back into the queue: it saves itself, its supervisor "
           "was asked to stop it, it does, it is stopped and its memory not free yet. Null: it is "
           "not on that way."),
      field("job", &L::job, "It stays when its requester leaves: a job of `berth submit`.")
          .left_out(side::kJournal),
      field("set", &L::set, "Of a set of jobs, how far it has come; else null.")
          .left_out(side::kJournal),
      field("retries", &L::retries, "Null where it is not started again if it fails.")
          .left_out(side::kJournal),
      kept("exit", &L::exit),
      computed("exit_code", "Of the command, if it exited by itself.", exit_code,
               [](L& lease, std::int32_t code) { lease.exit = ExitStatus{.code = code}; }),
      computed("exit_signal", "That killed the command.", exit_signal,
               [](L& lease, std::int32_t signal) { lease.exit = ExitStatus{.signal = signal}; }));
}
template <class L = LeaseView, class R = Request>
constexpr auto lease_request() {
  return fields(
      {}, told("priority", &L::request, &R::priority, kAsAsked),
      told("share", &L::request, &R::share, "As asked for, or as changed since."),
      computed(
          "device_count", "How many GPUs.",
          [](const L& lease) { return devices_wanted(lease.request); },
          [](L& lease, std::uint32_t count) { lease.request.device_count = count; })
          .from(1),
      told("requested_devices", &L::request, &R::devices, "Those asked for by name; empty: any."));
}
template <class L = LeaseView>
constexpr auto lease_memory() {
  return fields(
      {},
      computed("vram_requested_bytes",
               "On all its GPUs together; null where a whole GPU was asked for.", vram_requested,
               set_vram_requested),
      computed("vram_granted_bytes", "On all its GPUs together; null before the grant.",
               vram_granted),
      computed("vram_used_bytes", "On all its GPUs together; null if one part is unknown.",
               vram_used),
      computed("vram_peak_bytes", "On all its GPUs together; null if one part is unknown.",
               vram_peak),
      computed("vram_ledger_bytes",
               "What its programs have charged against the budget, on all its GPUs together.",
               vram_ledger),
      field("devices", &L::parts, "Its GPUs, in PCI order; empty before the grant.")
          .journal_after("members"),
      told("strays", &L::strays, "Processes of it on GPUs that it was not given."));
}
template <class L = LeaseView, class R = Request>
constexpr auto lease_processes() {
  return fields(
      {}, kept("process", &L::command), kept("supervisor", &L::supervisor),
      kept("members", &L::members),
      computed("pid", "Of the command.", command_pid,
               [](L& lease, std::int32_t pid) { lease.command = Process{.pid = pid}; }),
      computed(
          "start_ticks", "Of the command: with the pid its identity.",
          [](const L& lease) {
            return lease.command ? std::optional(lease.command->start_ticks) : std::nullopt;
          },
          [](L& lease, std::uint64_t ticks) {
            if (lease.command) lease.command->start_ticks = ticks;
          }),
      computed("supervisor_pid", "Of `berth run`.", supervisor_pid,
               [](L& lease, std::int32_t pid) { lease.supervisor = Process{.pid = pid}; }),
      computed("member_pids", "Of further processes that belong to it.", member_pids,
               set_member_pids)
          .to(kPidMax),
      told("command", &L::request, &R::command,
           "Null where it is not yours and access.show_commands is \"own\".")
          .kept_from(Secret::kCommand),
      told("labels", &L::request, &R::labels, "Free pairs of text."));
}
template <class L = LeaseView, class R = Request>
constexpr auto lease_times() {
  return fields(
      {}, field("queued", &L::queued_at, "When it was asked for.").required(side::kJournal),
      field("started", &L::started_at, "When it was granted; null while it waits."),
      field("ended", &L::ended_at, "When it ended."),
      field("expected_end", &L::expected_end,
            "By eta, limit and what its program tells; null: no end known."),
      field("expires", &L::expires_at, "When a lease without a command ends unless it is renewed."),
      told("turn_ends", &L::turn_ends_at,
           "When its turn ends for another slice; null while none waits for that."),
      told(
          "idle_since", &L::idle_since,
          "Since when nothing was computed on its GPUs and its memory has not changed; null: it is "
          "not idle, or not known to be."),
      told("eta", &L::request, &R::eta, kAsAsked), told("limit", &L::request, &R::limit, kAsAsked),
      told("wait", &L::request, &R::wait_max, kAsAsked),
      told("ttl", &L::request, &R::ttl, kAsAsked),
      field("waited", &L::waited, "How long it has waited, or did."),
      field("queue_position", &L::queue_position, "1 is next; null unless it waits.")
          .journal_after("devices"),
      computed("check_again_after_ms", kCheckAgainDoc,
               [](const L& lease) { return check_again_after(lease); }));
}
template <class L = LeaseView, class R = Request>
constexpr auto lease_history() {
  return fields(
      {}, kept("checkpoints", &L::checkpoints),
      computed("checkpoint", "Null where it cannot be asked to save itself.", checkpoint_of,
               set_checkpoint),
      field("measures", &L::measures,
            "Measures that were taken on it, the last of each kind, oldest first.")
          .at_most(kMeasureCount),
      field("pause", &L::pause, "Null unless somebody paused it by hand.")
          .called("paused", side::kWire),
      field("on_hold", &L::hold, "Null unless somebody keeps it from being granted."),
      told("halted", &L::halt, "Why it is suspended or frozen; null: it is not."),
      field("moved_by", &L::moved_by, "Who moves it to other GPUs, until it runs there."),
      field("ended_by", &L::ended_by, "Who released or cancelled it."),
      told("requeued_by", &L::requeued_by,
           "Who wants it to wait in the queue again, until it does; null: nobody, or a measure."),
      told("left_alone_pids", &L::left_alone,
           "Its processes that are another user's: the last pause, or end, left them alone.")
          .to(kPidMax),
      told("progress", &L::progress,
           "How far its program says that it is; null: it has said nothing since it was started, "
           "or since the daemon was."),
      field("messages", &L::messages,
            "What was asked of its holder, the last of it, oldest first; gone when it has ended.")
          .at_most(kMessagesKept));
}
constexpr auto fields_of(Is<LeaseView> auto*) {
  return lease_who() + lease_state() + lease_request() + shown_fields(&LeaseView::request) +
         lease_memory() + lease_processes() + lease_times() + lease_history();
}

/// It is being stopped to wait in the queue again, and its `berth run` comes back for that.
inline bool comes_back(const LeaseView& lease) {
  return lease.requeue == RequeueStep::kStopping || lease.requeue == RequeueStep::kStopped;
}

/// How long a command that has failed waits for its next start, where it may be started again so
/// many times more.
Duration retry_delay(const Request& request, std::uint32_t left);

/// The flags that are set, as words: "over_budget", "parked", …
std::vector<std::string_view> words(const LeaseFlags& flags);

}  // namespace berth
