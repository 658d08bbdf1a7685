// SPDX-License-Identifier: Apache-2.0
// Leases whose memory is moved to the host and back, to the same devices or to others, and leases
// whose processes are stopped. The move itself is the driver's and the stop the kernel's; here it
// is decided when, and remembered how far it has come. Of one lease one thing is under way at a
// time.
//
// Note [Room before return]: a restore that runs out of memory ruins the process for ever. So a
// lease returns in three steps: its budgets are reserved in the ledger, a sample asked after that
// reports that what it had is free, and only then its memory is moved. No lease can be in the way,
// since each other one is held to a budget that the ledger counts beside these.
//
// Note [Nobody stays stopped]: that a lease is frozen is written down before the first of its
// processes is stopped, and that it is not any more after the last goes on. So a daemon that finds
// one frozen does again what may have been half done; and one that ends is over only when all that
// was stopped goes on. Its memory may be moved meanwhile: the mover lets the processes run for that
// long, because a stopped process does not serve the driver, and stops them again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/attribution.h"
#include "core/decider.h"
#include "core/devices.h"
#include "core/displaced.h"
#include "core/indexes.h"
#include "core/left_alone.h"
#include "core/migration.h"
#include "core/operations.h"
#include "core/part.h"
#include "core/presence.h"
#include "core/resizing.h"
#include "core/slicing.h"
#include "core/swap_needs.h"
#include "model/transfer.h"

namespace berth::core {

/// Why it is suspended.
struct SuspendCause {
  /// A user wants it to stay away.
  struct Paused {
    PauseBody terms;
    UserId by;
  };
  std::optional<LeaseId> yields_to = {};
  bool turn = false;
  std::optional<Paused> paused = {};
};

class Transfers {
 public:
  /// What is known of the transfers of one lease. It dies with the daemon.
  struct OfLease {
    std::uint64_t number = 0;                   // Of what is under way; 0: nothing is.
    Direction direction = Direction::kSwapOut;  // Of that, or of what was last.
    Instant begun;
    std::string stuck;                  // Why a move ended between two states; empty: it did not.
    std::string failure;                // Why its last suspension came to nothing.
    std::vector<Token> waiters;         // Who waits to hear what comes of it.
    std::vector<Token> freeze_waiters;  // Likewise of its processes being stopped, or going on.
    std::vector<Token> thaw_waiters;    // They are to go on as soon as all are stopped.
    std::vector<DeviceId> migrates_to;  // Where it returns when it has left; empty: as it was.
    std::optional<UserId> migrates_by;  // Who wants that.
    Instant swap_in_begun;
    bool swap_out_measured = false;             // And nobody has tried to bring it back since.
    bool all_away = false;                      // Of one that is to return; likewise.
    std::vector<DeviceId> left_elsewhere = {};  // Beside its parts it had left these then.
    TurnCost cost;
    // Before these it is not asked again to make room, its turn does not end, it is not brought
    // back for the next, and it is not let go on because its pause is over.
    Instant yield_not_before;
    Instant turn_end_not_before;
    Instant resume_not_before;
    Instant thaw_not_before;

    bool is_under_way() const { return number != 0; }
    bool is_of_processes() const {
      return direction == Direction::kFreeze || direction == Direction::kThaw;
    }
    /// Its processes are just being stopped or let go on.
    bool is_freezing() const { return is_under_way() && is_of_processes(); }
  };

  Transfers(Decider& core, const Ledger& ledger, const Devices& devices, const Indexes& indexes,
            const Presence& presence, Attribution& attribution, Confirmations& confirmations,
            Resizing& resizing, Displaced& displaced, LeftAlone& left_alone)
      : core_(core),
        ledger_(ledger),
        indexes_(indexes),
        presence_(presence),
        attribution_(attribution),
        confirmations_(confirmations),
        resizing_(resizing),
        displaced_(displaced),
        left_alone_(left_alone),
        needs_(ledger, devices, attribution, confirmations),
        migration_(core, ledger, devices, attribution, needs_) {}

  void on(const Suspend& event);
  void on(const Resume& event);
  void on(const Freeze& event);
  void on(const Migrate& event);
  /// Of the one that is under way.
  void done(const TransferDone& event);

  void suspend(LeaseId id, const SuspendCause& cause);
  /// It goes on from wherever the daemon before had left it.
  void recover(LeaseId id);
  /// Lets it go on, so that it hears that it is to end.
  void thaw(LeaseId id);
  /// Where there is room for it; see Note [Room before return].
  bool try_resume(LeaseId id);
  /// What is more important and next goes before, for as long as anybody may be passed.
  bool may_resume(LeaseId id) const;
  void swap_in_where_confirmed(const Sample& sample);
  /// When its pause ends by itself.
  Instant pause_due(const Lease& lease) const;
  bool tend_pause(LeaseId id);
  /// Clients that wait for one that has ended are refused.
  void refuse_waiters_of_ended(LeaseId id);
  void forget(LeaseId id);

  const OfLease& of(LeaseId id) const { return known_.at(id); }
  Standing standing_of(const Lease& lease) const;
  /// How many were begun.
  std::uint64_t count() const { return count_; }
  /// Some wait for a sample that tells of room.
  bool awaits_room() const { return !resuming_.empty(); }
  const SwapNeeds& needs() const { return needs_; }

 private:
  /// False: it was refused.
  bool accepts(Operation operation, const Lease& lease, Token token);

  // suspending.cc
  void note_pause(LeaseId id, const PauseBody& terms, UserId by);
  void resume(LeaseId id, std::optional<Token> token);
  Away away_of(const Lease& lease) const;
  bool returns_where_it_was(const Lease& lease);
  void begin_swap_in(LeaseId id);
  void begin(LeaseId id, Direction direction);
  void take_result(const TransferDone& event);
  void swapped_out(LeaseId id, const TransferResult& result);
  void not_swapped_out(LeaseId id, const std::string& why);
  void swapped_in(LeaseId id, const TransferResult& result);
  void not_swapped_in(LeaseId id, const std::string& why);
  void answer(LeaseId id, std::vector<Token> OfLease::* waiters, const std::string& why_not = {});

  // freezing.cc
  void freeze_done(LeaseId id, const TransferResult& result);
  void frozen(LeaseId id, const TransferResult& result);
  void restore_frozen(LeaseId id);

  // moving.cc
  void migrate(LeaseId id, const std::vector<DeviceId>& to, std::optional<UserId> by);
  void migrate_when_out(LeaseId id);
  void undo_migration(LeaseId id, const std::string& why);

  Ref<Decider> core_;
  Ref<const Ledger> ledger_;
  Ref<const Indexes> indexes_;
  Ref<const Presence> presence_;
  Ref<Attribution> attribution_;
  Ref<Confirmations> confirmations_;
  Ref<Resizing> resizing_;
  Ref<Displaced> displaced_;
  Ref<LeftAlone> left_alone_;
  SwapNeeds needs_;
  MigrationRules migration_;
  PerLease<OfLease> known_;
  std::map<LeaseId, Instant> resuming_;  // A sample asked after that is to tell of room.
  std::uint64_t count_ = 0;
};

}  // namespace berth::core
