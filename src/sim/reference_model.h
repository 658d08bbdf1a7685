// SPDX-License-Identifier: Apache-2.0
// The journal, read a second time and in another way than the coordinator does: each record must
// fit what came before it, and what the coordinator and its answers say must fit this. Nothing here
// is taken from src/daemon/core.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/lease.h"
#include "model/record.h"
#include "sim/coverage.h"
#include "sim/ladders.h"
#include "sim/reference_messages.h"

namespace berth::sim {

/// When a record of each kind was last written of a lease; 0: none was.
class RecordTimes {
 public:
  template <class Kind>
  Instant of() const {
    return at_[kIndexOf<Kind>];
  }
  template <class Kind>
  void note(Instant at) {
    at_[kIndexOf<Kind>] = at;
  }

 private:
  template <class Kind, class... Kinds>
  static consteval std::size_t index_in(const std::variant<Kinds...>* /*type*/) {
    std::size_t index = 0;
    static_cast<void>(((std::is_same_v<Kind, Kinds> || (++index, false)) || ...));
    return index;
  }
  template <class Kind>
  static constexpr std::size_t kIndexOf = index_in<Kind>(static_cast<const AnyFact*>(nullptr));

  std::array<Instant, std::variant_size_v<AnyFact>> at_{};
};

/// A request or lease that has not ended. What a kind of record alone is about stands beside what
/// else it is about, and nothing is kept that its record or the time of it tells.
struct ReferenceLease {
  enum class State : std::uint8_t { kWaiting, kOffered, kClaimed, kReleasing };
  /// Where its memory is.
  enum class Away : std::uint8_t { kNo, kSwappingOut, kSuspended, kSwappingIn };
  struct Place {
    bool parked = false;
    bool on_hold = false;
    std::uint64_t sequence = 0;  // Of the record by which it was queued, or requeued.
    bool is_set_aside() const { return parked || on_hold; }
    bool passed_others = false;  // With its grant.
    std::optional<Instant> passed_since;
  };
  struct Members {
    std::optional<Process> command;
    bool command_ended = false;
    bool is_shutdown = false;  // With the machine.
    Instant ended_at;          // Its command, or the last of its processes after that.
    std::set<Process> processes = {};
    std::set<Process> ever = {};  // All who were members, and its commands.

    bool had_pid(std::int32_t pid) const;  // Of the dead the driver tells no more.
  };
  struct Save {
    std::optional<std::uint64_t> number;  // Of the one under way.
    std::uint64_t asked = 0;              // So far.
    std::optional<CheckpointOutcome> last;
  };
  struct Requeue {
    std::uint32_t restarts = 0;
    std::optional<RequeueAsked> asked = {};  // It is to be stopped and to wait again.
    std::optional<Instant> stop_at = {};     // It is being stopped, and killed then.
  };
  struct Resizing {
    Instant shrunk_at;
    std::optional<GrowthQueued> growth;  // It waits for more.
  };
  struct Pause {
    bool frozen = false;
    bool paused = false;
    std::optional<Instant> until = {};
  };
  struct Absence {
    Away away = Away::kNo;
    bool wanted_back = false;
    bool turn = false;                      // It left because its turn was over.
    Bytes used;                             // On its first device, when it left.
    Duration before;                        // How long it was away before, in all.
    std::vector<DeviceId> moved_from = {};  // Where its memory was, if it returns elsewhere.
    bool migrated = false;                  // A user put it elsewhere than where it had asked for.
    Instant undone_at;  // The last time that it was to leave, or to come back, and did not.

    void put_on(const std::vector<DeviceId>& devices, std::vector<Part>& placed);
  };

  State state = State::kWaiting;
  LeaseId id;
  Handle handle;
  UserId user;
  std::optional<Process> supervisor;
  bool kept = false;  // A job.
  Request request;
  RecordTimes times;
  Place place;
  std::vector<Part> parts;
  Resizing resizing;
  Members members;
  std::optional<Instant> kill_at;  // Revoked.
  std::optional<Instant> expires;
  Save save;
  Requeue requeue;
  Pause pause;
  Absence absence;
  ReferenceMeasures measures;
  ReferenceMessages messages;

  bool holds() const { return state == State::kOffered || state == State::kClaimed; }
  bool is_away(Away where) const { return absence.away == where; }
  bool is_moving() const { return is_away(Away::kSwappingOut) || is_away(Away::kSwappingIn); }
  Instant queued_at() const { return times.of<RequestQueued>(); }  // Or when it was queued again.
  Instant granted_at() const { return times.of<LeaseGranted>(); }
  Instant runs_since() const { return std::max(granted_at(), times.of<LeaseResumed>()); }
  Instant stands_since() const;  // It is away, or not frozen any more.
  Bytes budget_on(DeviceId device) const;
  /// Where what is away of the part that is on this device by now was when it left.
  DeviceId left_from(DeviceId device) const;
  void goes_on();  // Unless it is frozen.
  /// As it waits after it was granted, and perhaps begun.
  ReferenceLease queued_again(std::uint32_t begun) const;
  /// Where it stands, for people.
  std::string describe() const;
};

class ReferenceModel {
 public:
  /// Empty, or what rule the record breaks.
  std::string apply(const Record& record, Coverage& coverage);
  /// A snapshot in place of all records so far: empty, or how it differs from what they said.
  std::string replace(const std::vector<Record>& snapshot, std::uint64_t last_sequence);
  /// The steady clock begins anew: no time that was noted says anything any more.
  void rebooted();

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
