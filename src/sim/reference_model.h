// SPDX-License-Identifier: Apache-2.0
// The journal, read a second time and in another way than the coordinator does: each record must
// fit what came before it, and what the coordinator and its answers say must fit this. Nothing here
// is taken from src/core.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/lease.h"
#include "model/record.h"
#include "sim/coverage.h"
#include "sim/ladders.h"

namespace berth::sim {

/// A request or lease that has not ended.
struct ReferenceLease {
  enum class State : std::uint8_t { kWaiting, kOffered, kClaimed, kReleasing };
  /// Where its memory is.
  enum class Away : std::uint8_t { kNo, kSwappingOut, kSuspended, kSwappingIn };
  State state = State::kWaiting;
  Away away = Away::kNo;
  bool wanted_back = false;
  bool turn = false;  // It left because its turn was over.
  Bytes away_used;    // On its first device, when it left.
  Instant runs_since;
  Instant returns_since;  // The last time that it began to.
  Instant undone_at;      // The last time that it was to leave, or to come back, and did not.
  std::optional<Instant> away_since;
  Duration away_before;  // How long it was, in all.
  LeaseId id;
  Handle handle;
  UserId user;
  std::optional<Process> supervisor;
  Request request;
  Instant queued_at;
  std::optional<Instant> passed_since;
  std::vector<Part> parts;
  std::vector<DeviceId> moved_from;  // Where its memory was when it left, if it returns elsewhere.
  Instant granted_at;
  Instant limited_from;  // Its limit holds: it is claimed, and neither leaves nor is stopped.
  Instant shrunk_at;
  std::optional<Process> command;
  std::set<Process> members;
  std::set<Process> belonged;      // All who ever were members, and its commands.
  std::optional<Instant> kill_at;  // Revoked.
  std::optional<Instant> expires;
  Instant ended_at;  // Its command, or the last of its processes after that, as it was written.
  std::optional<Instant> releasing_since;
  std::optional<Instant> growth_until;
  std::optional<std::uint64_t> saving;  // The number of the save under way.
  Instant saving_since;
  std::uint64_t saves = 0;                    // Asked for so far.
  std::optional<CheckpointOutcome> saved_as;  // Of the last that is over.
  std::uint32_t restarts = 0;
  bool requeuing = false;          // To be stopped and to wait again,
  bool unsaved = false;            // whatever comes of its save.
  Instant requeue_since;           // It was asked, or its save was over.
  std::optional<Instant> stop_at;  // It is being stopped, and killed then.
  bool parked = false;
  bool passed_others = false;
  bool command_ended = false;
  bool growing = false;
  bool frozen = false;
  bool migrated = false;  // Somebody put it elsewhere than where it had asked for.
  bool paused = false;
  std::optional<Instant> paused_until;
  Instant stands_since;  // It is away, or not frozen any more.
  ReferenceMeasures measures;

  void goes_on();  // Unless it is frozen.
  void end_pause();
  void put_on(const std::vector<DeviceId>& devices);  // While it is away.
  bool holds() const { return state == State::kOffered || state == State::kClaimed; }
  Bytes budget_on(DeviceId device) const;
  bool had_pid(std::int32_t pid) const;  // Of whom the driver tells no more, once it has ended.
  /// Where what is away of the part that is on this device by now was when it left.
  DeviceId left_from(DeviceId device) const;
  /// Where it stands, for people.
  std::string describe() const;
};

class ReferenceModel {
 public:
  /// Empty, or what rule the record breaks.
  std::string apply(const Record& record, Coverage& coverage);
  /// A snapshot in place of all records so far: empty, or how it differs from what they said.
  std::string replace(const std::vector<Record>& snapshot, std::uint64_t last_sequence);

  const std::map<LeaseId, ReferenceLease>& leases() const { return leases_; }
  const ReferenceLease* find(LeaseId id) const;
  const ReferenceLease* find(Handle handle) const;
  Bytes budgets_on(DeviceId device) const;
  std::uint64_t last_sequence() const { return last_sequence_; }

 private:
  struct Applier;

  std::map<LeaseId, ReferenceLease> leases_;
  std::uint64_t last_sequence_ = 0;
  std::uint64_t last_id_ = 0;
};

/// Empty, or how the view contradicts what the journal says. `behind`: some of it is not written
/// yet, so that only what a grant stands on must be there.
std::string mismatch(const ReferenceLease& said, const LeaseView& view, bool behind);

}  // namespace berth::sim
