// SPDX-License-Identifier: Apache-2.0
// Records of a snapshot of the journal: the state that the records before it have led to, as
// facts of their own, with their tables of fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/boxed.h"
#include "base/fields.h"
#include "base/ids.h"
#include "base/units.h"
#include "model/facts.h"
#include "model/lease.h"

namespace berth {

struct LeaseRestored {
  Boxed<LeaseView> view;
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
  std::optional<Instant> idle_since;
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
constexpr auto fields_of(Is<LeaseRestored> auto*) {
  return fields(
      {"lease_restored",
       "A lease as a snapshot has it, with what the order of the queue and its "
       "end depend on."},
      field("lease", &LeaseRestored::view).required(),
      field("queued_at", &LeaseRestored::queued_instant).required(),
      field("queued_sequence", &LeaseRestored::queued_sequence).required(),
      field("granted_at", &LeaseRestored::granted_instant),
      field("granted_sequence", &LeaseRestored::granted_sequence),
      field("passed_since", &LeaseRestored::passed_since),
      field("parked_since", &LeaseRestored::parked_since),
      field("passed_others", &LeaseRestored::passed_others),
      field("claimed", &LeaseRestored::claimed),
      field("command_ended", &LeaseRestored::command_ended),
      field("expires", &LeaseRestored::expires), field("kill_at", &LeaseRestored::kill_at),
      field("ending", &LeaseRestored::ending),
      field("releasing_since", &LeaseRestored::releasing_since),
      field("growth", &LeaseRestored::growth),
      field("growth_queued", &LeaseRestored::growth_queued),
      field("checkpoint_asked", &LeaseRestored::checkpoint_asked),
      field("suspension", &LeaseRestored::suspension),
      field("suspended_since", &LeaseRestored::suspended_since),
      field("suspended", &LeaseRestored::suspended),
      field("resume_queued", &LeaseRestored::resume_queued),
      field("resume_sequence", &LeaseRestored::resume_sequence),
      field("resume_begun", &LeaseRestored::resume_begun),
      field("runs_since", &LeaseRestored::runs_since), field("away", &LeaseRestored::away),
      field("requeue", &LeaseRestored::requeue),
      field("requeue_kill_at", &LeaseRestored::requeue_kill_at),
      field("waited_before", &LeaseRestored::waited_before),
      field("frozen", &LeaseRestored::frozen), field("pause_ends", &LeaseRestored::pause_ends),
      field("moved_from", &LeaseRestored::moved_from), field("departed", &LeaseRestored::departed),
      field("idle_since", &LeaseRestored::idle_since));
}
/// Granted byte-seconds of a user's session, decayed to the instant of the record.
struct UsageRestored {
  UserId user;
  std::string session;
  double byte_seconds = 0;
  Instant at;
};
constexpr auto fields_of(Is<UsageRestored> auto*) {
  return fields(
      {"usage_restored", "A user's past use, as a snapshot has it, by which `fair` goes."},
      field("user_id", &UsageRestored::user).required(), field("session", &UsageRestored::session),
      field("byte_seconds", &UsageRestored::byte_seconds).required(),
      field("counted_at", &UsageRestored::at).required());
}
/// How much one run of a command used of a device, at most.
struct PastRun {
  Bytes peak;
  bool refused = false;  // It wanted more than its budget.
};
constexpr auto fields_of(Is<PastRun> auto*) {
  return fields({}, field("vram_peak", &PastRun::peak).required(),
                field("refused", &PastRun::refused));
}
/// What is known of the runs of one command of a user.
struct CommandRestored {
  UserId user;
  std::uint64_t fingerprint = 0;  // Of the command line.
  std::vector<PastRun> runs;      // Oldest first.
};
constexpr auto fields_of(Is<CommandRestored> auto*) {
  return fields(
      {"command_restored", "What the last runs of a command line used, as a snapshot has it."},
      field("user_id", &CommandRestored::user).required(),
      field("fingerprint", &CommandRestored::fingerprint).required(),
      field("runs", &CommandRestored::runs).required());
}
struct CountersRestored {
  std::uint64_t next_id = 1;
  std::uint64_t last_sequence = 0;  // Of the records that the snapshot replaces.
};
constexpr auto fields_of(Is<CountersRestored> auto*) {
  return fields({"counters_restored", "From where a snapshot counts on."},
                field("next_id", &CountersRestored::next_id).required(),
                field("last_sequence", &CountersRestored::last_sequence).required());
}

}  // namespace berth
