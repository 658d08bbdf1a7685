// SPDX-License-Identifier: Apache-2.0
// The state that survives the daemon. It changes by apply(record) and in no other way; apply looks
// at no clock, configuration or measurement, so that recovery gives the same leases under any of
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "core/measures.h"
#include "core/message_table.h"
#include "core/run_history.h"
#include "core/share.h"
#include "model/lease.h"
#include "model/record.h"
#include "model/request.h"

namespace berth::core {

struct Waiting {
  std::optional<Instant> parked_since;  // Its requester set it aside.
  std::optional<OnHold> hold;           // A user keeps it from being granted.
  bool is_set_aside() const { return parked_since || hold; }
  std::optional<Instant> passed_since;  // Since when later requests were granted before it.
};

struct Growth {
  Bytes vram;  // On each device, as it shall be.
  Instant queued_at;
  std::optional<Instant> until;
};

struct Revocation {
  EndResult result = EndResult::kCancelled;
  Instant kill_at;
  std::optional<UserId> by = {};
};

struct Suspension {
  enum class Phase : std::uint8_t {
    kSwappingOut,  // Its memory is on the way to the host, or on the way back from there at once.
    kSuspended,    // It is there.
    kSwappingIn,   // Its budgets are reserved, and it is on the way back.
  };
  Phase phase = Phase::kSwappingOut;
  std::vector<Bytes> used;        // On each device before it began.
  Instant since;                  // When it began: from then on its limit does not run.
  std::optional<Instant> queued;  // Since then it is wanted back, and waits for room.
  std::uint64_t queued_sequence = 0;
  std::optional<LeaseId> yields_to;
  bool turn = false;  // It left because its turn was over.
  /// Where its memory was when it left, part by part, if it comes back elsewhere; else empty.
  std::vector<DeviceId> moved_from;
  std::optional<UserId> moved_by = {};
};

struct Requeue {
  bool unsaved = false;            // Whatever comes of its save.
  std::optional<Instant> kill_at;  // Set when its `berth run` stops the command.
  std::optional<UserId> by = {};   // Who asked for it; absent: a measure.
};

/// On both clocks.
struct Moment {
  Instant at;
  UnixMs wall;
};

struct Grant {
  Instant at;
  UnixMs wall;
  std::uint64_t sequence = 0;
  bool passed_others = false;
};

struct Held {
  std::vector<Part> parts;
  Grant granted;
  Instant runs_since;  // It was granted, or came back the last time.
  bool claimed = false;
  std::optional<Process> command;
  bool command_ended = false;
  std::optional<ExitStatus> exit;
  std::set<Process> members;      // Alive, as far as is known; the command is not among them.
  std::vector<Process> departed;  // Dead, and the driver may still list them. Oldest first.
  std::optional<Moment> expires;
  std::optional<Revocation> revoked;
  std::optional<Growth> growth;
  std::optional<Suspension> suspension;
  Duration away;  // How long it was suspended before.
  std::optional<Requeue> requeue;
  bool frozen = false;  // All its processes are stopped, or are to be.
  std::optional<Pause> pause;
  std::optional<Instant> pause_ends;
  /// Kept while it is suspended: how long it had been idle then. One that runs again is not.
  std::optional<Instant> idle_since;
  /// It is wanted to go on. One that is frozen does when it is that no more.
  void end_pause() {
    if (!frozen) forget_pause();
  }
  void forget_pause() {
    pause.reset();
    pause_ends.reset();
  }

  bool is_on(DeviceId device) const;
  bool has_processes() const { return !members.empty() || (command && !command_ended); }
  /// Its memory is in host memory, and its budgets are not its own.
  bool is_swapped_out() const {
    return suspension && suspension->phase == Suspension::Phase::kSuspended;
  }
  /// Of one that is suspended, or on the way there or back.
  const Suspension& its_suspension() const {
    CHECK(suspension.has_value());
    return *suspension;
  }
  /// Its command is stopped, to be started again, and killed then.
  std::optional<Instant> stopped_by() const { return requeue ? requeue->kill_at : std::nullopt; }
  bool is_being_stopped() const { return stopped_by().has_value(); }
};

struct Releasing {
  Held was;
  EndResult result = EndResult::kOk;
  Instant since;
  std::optional<UserId> by = {};
};

struct Lease {
  LeaseId id;
  Handle handle;
  UserId user;
  std::optional<Process> supervisor;
  Request request;
  Instant queued_at;   // The last time.
  UnixMs queued_wall;  // The first.
  std::uint64_t queued_sequence = 0;
  Checkpoints checkpoints;
  std::optional<Instant> checkpoint_asked;  // The last time, in this run.
  Measures measures;
  std::uint32_t restarts = 0;
  Duration waited_before;  // Before it was requeued the last time.
  bool job = false;        // It stays when its requester leaves.
  std::optional<SetProgress> set = {};
  Retries retries = {};
  MessageTable messages = {};
  std::variant<Waiting, Held, Releasing> state;

  const Waiting* waiting() const { return std::get_if<Waiting>(&state); }
  const Held* held() const { return std::get_if<Held>(&state); }
  const Releasing* releasing() const { return std::get_if<Releasing>(&state); }
  /// Of a held or a releasing lease; null while it waits.
  const Held* granted() const;
  /// It has ended, and programs of it have not: what they use comes free when they do.
  bool is_outlived() const;

  /// Its place among those who wait: for their first grant, or to come back.
  Instant waits_since() const;
  std::uint64_t waits_sequence() const;
};

class State {
 public:
  /// A record that does not fit changes nothing and is an error.
  Status apply(const Record& record);

  const std::map<LeaseId, Lease>& leases() const { return leases_; }
  const Lease* find(LeaseId id) const;
  /// The live lease of the handle.
  std::optional<LeaseId> find(Handle handle) const;
  const std::deque<LeaseView>& ended() const { return past_.ended; }
  const LeaseView* find_ended(LeaseId id) const;
  const Shares& shares() const { return shares_; }
  const RunHistory& runs() const { return past_.runs; }
  std::uint64_t next_id() const { return next_id_; }
  std::uint64_t last_sequence() const { return last_sequence_; }
  /// When the last record was decided, in the boot in which it was.
  Instant last_at() const { return last_at_; }

  /// Everything, as records that rebuild it.
  std::vector<Record> snapshot(Instant now) const;

 private:
  struct Applier;
  /// What is over. A copy of the state begins without: it is most of what there is, and trials, for
  /// which copies are made, ask for none of it.
  struct Past {
    Past() = default;
    Past(const Past& /*other*/) {}
    Past& operator=(const Past& other) {
      if (this != &other) *this = Past();
      return *this;
    }
    Past(Past&&) noexcept = default;
    Past& operator=(Past&&) noexcept = default;
    ~Past() = default;

    std::deque<LeaseView> ended;             // Oldest first, at most limits::kEndedKept.
    std::map<UserId, std::size_t> ended_of;  // How many of them are whose.
    RunHistory runs;
  };

  void learn(const Lease& lease, const LeaseEnded& fact);
  void charge_share(const Lease& lease, Instant at, double sign);
  void keep_ended(LeaseView view);
  void end(const LeaseEnded& fact, const Record& record);
  void queue_again(Lease& job, Duration waited, Instant at);
  static void begin_retry(Lease& lease, const Retry& next, const std::optional<ExitStatus>& failed);
  void begin_member(Lease& lease);
  void end_member(const SetMember& member, EndResult result);

  std::map<LeaseId, Lease> leases_;
  std::map<Handle, LeaseId> by_handle_;  // Of these.
  Shares shares_;
  Past past_;
  std::uint64_t next_id_ = 1;
  std::uint64_t last_sequence_ = 0;
  Instant last_at_;
};

/// A lease as a snapshot has it. Absent: it makes no sense.
std::optional<Lease> restored_lease(const LeaseRestored& fact);

/// The parts of a view that follow from what survives: everything but measurements, position and
/// index.
LeaseView survivor_view(const Lease& lease);

}  // namespace berth::core
