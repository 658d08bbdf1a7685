// SPDX-License-Identifier: Apache-2.0
// The coordinator's knowledge beside its State: of leases, of devices, and whose a process is. It
// dies with the daemon. Included by impl.h only.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/effect.h"
#include "core/escalation_state.h"
#include "core/ledger.h"
#include "core/pressure.h"
#include "core/queue.h"
#include "core/slicing.h"
#include "model/device.h"
#include "model/lease.h"
#include "model/record.h"

namespace berth::core {

/// A process, and the lease for which it counts. What a supervisor has told to be left behind
/// counts for its lease only where nothing else is known: it may be of another lease, inside of
/// this one.
struct Belonging {
  Process process;
  bool certain = true;
  LeaseId lease;
  friend auto operator<=>(const Belonging&, const Belonging&) = default;
};

/// Measured on one device.
struct Use {
  std::optional<Bytes> now;
  Bytes peak;
  bool figure_missing = false;  // The driver lists a process and gives no figure for it.
  Bytes last;                   // What was known before the figure was missing.
  Bytes upper_bound;  // The budget before it shrank, until a sample tells what is really used.

  // By the account of the lease's own programs; see Note [Two accounts].
  std::optional<Bytes> ledger;
  Bytes ledger_peak;
  std::uint64_t refused = 0;          // Allocations.
  Bytes wanted;                       // By those that wait for room.
  std::optional<std::int64_t> drift;  // What the driver told beyond the ledger, in bytes.
  Bytes unexplained;                  // What it told that neither ledger nor context explains.
  Bytes unaccounted;                  // What is counted as used of that.
  Bytes excess;                       // Charged for contexts that cost less; as last seen at rest.
  bool may_give_back = false;         // That excess: nothing is hidden behind it.

  Trend trend;  // Of whichever account is the higher.

  Bytes highest() const { return std::max(peak, ledger_peak); }
  /// By whichever account has more now.
  Bytes higher_now() const { return std::max(now.value_or(Bytes{}), ledger.value_or(Bytes{})); }
};

/// Who waits to hear how a save went.
struct CheckpointWaiter {
  Token token;
  Instant until;
};

/// What a program has told of how far it is.
struct ReportedProgress {
  Progress last;
  Instant at;
  std::uint64_t done_first = 0;  // How fast it goes is counted from here:
  Instant first_at;              // the first report since it runs, or since it began anew.

  std::optional<ReportedEnd> end() const {
    return last.left ? std::optional(ReportedEnd{.at = at, .left = *last.left}) : std::nullopt;
  }
};

/// What follows from the rest, kept to be taken back.
struct Derived {
  std::optional<Place> place;
  std::optional<Place> turn_place;  // Among those who wait for a turn.
  std::vector<DeviceId> charged_on;
  std::vector<Process> watched;  // Each once, in order.
  std::vector<Belonging> belonging;
  Instant deadline = Instant::never();
  std::optional<Handle> handle;
  std::optional<UserId> user;
  bool counted_waiting = false;
  bool counted_held = false;
  Bytes counted_vram;
};

/// Facts that are not worth a record.
struct Observed : Derived {
  bool connected = true;  // The asker of a waiting request listens.
  bool over_budget = false;
  bool full = false;  // An allocation in it waits for room.
  bool degraded = false;
  bool killed = false;                        // SIGKILL was sent.
  bool freed = false;                         // Releasing, and the driver lists nothing of it.
  Direction direction = Direction::kSwapOut;  // Of the move of its memory under way,
  std::uint64_t move = 0;                     // whose number this is; 0: none.
  std::optional<Instant> reconnect_until;     // Until then an absent asker keeps his turn.
  Instant claim_until = Instant::never();
  std::map<DeviceId, Use> use;
  PressureState pressure_state;
  std::array<EscalationState, kCauseCount> escalations;  // By cause.
  std::string excess;                                    // How it is above its budget, for people.
  std::string suspend_failure;                           // Why its last suspension came to nothing.
  std::string requeue_failure;                           // The same, of its last requeue.
  Unchanged unchanged;
  bool rises = false;  // It uses more than in the last seconds.
  std::optional<Duration> full_in;
  std::optional<Instant> confirm_since;  // It moves back when a sample after this tells of room.
  std::string stuck;                     // Why a move ended between two states.
  std::vector<Token> transfer_tokens;    // Who waits to hear what comes of it.
  std::vector<Token> freeze_tokens;      // Likewise of its processes being stopped, or going on.
  std::vector<Token> thaw_tokens;        // They are to go on as soon as all are stopped.
  std::vector<DeviceId> migrates_to;     // Where it returns when it has left; empty: as it was.
  std::optional<UserId> migrates_by;     // Who wants that.
  Instant yield_not_before;              // Before this it is not asked again to make room,
  Instant turn_end_not_before;           // nor does its turn end,
  Instant resume_not_before;             // nor is it brought back for the next,
  Instant thaw_not_before;               // nor let go on because its pause is over.
  TurnCost turn_cost;
  Instant turn_over = Instant::never();  // Somebody waits for the end of its turn, which is then.
  std::optional<LeaseId> turn_for;       // It leaves so that this one has its turn.
  Instant suspended_at;                  // Its memory was away from then on.
  bool swap_out_measured = false;        // And nobody has tried to bring it back since.
  Instant swap_in_begun;
  Instant transfer_begun;
  std::optional<Instant> settle_since;  // Only a sample asked after this tells what is left.
  std::optional<Instant> shrunk_at;     // Only a sample asked after this tells what came free.
  bool shrink_confirmed =
      false;  // A sample asked after it has told what it left, while it is away.
  std::vector<Process> leftovers;              // Told by the supervisor; not known to use a device.
  std::optional<Token> growth_token;           // Who waits for the growth.
  std::optional<LeaseResized> budgets_before;  // To take the last resize back.
  std::optional<Token> exit_token;             // Who waits to hear what the command left behind.
  Instant exit_answer_by = Instant::never();
  std::set<std::pair<DeviceId, Process>> announced_strays;  // Of which somebody has heard.
  std::vector<CheckpointWaiter> checkpoint_waiters;
  std::set<std::int32_t> left_alone;         // Pids of others', by the last pause or end.
  std::set<std::int32_t> logged_left_alone;  // Pids of which the log has heard.
  std::vector<Token> requeue_waiters;        // Who waits for it to wait again.
  Instant begins_until = Instant::never();   // Until then its `berth run` begins to stop it.
  std::optional<ReportedProgress> progress;
  Bytes used_before_cleanup;

  std::optional<ReportedEnd> reported_end() const {
    return progress ? progress->end() : std::nullopt;
  }

  /// On all its devices, by the last sample.
  Bytes used() const {
    Bytes sum;
    for (const auto& [device, one] : use) sum += one.now.value_or(Bytes{});
    return sum;
  }
  /// The same by whichever account has more.
  Bytes used_by_higher() const {
    Bytes sum;
    for (const auto& [device, one] : use) sum += one.higher_now();
    return sum;
  }
  EscalationState& escalation_for(Cause cause) {
    return escalations[static_cast<std::size_t>(cause)];
  }
  /// By each sample since `over_budget_tolerance` was passed.
  bool is_above() const {
    return escalations[static_cast<std::size_t>(Cause::kOverBudget)].since.has_value();
  }
};

/// Why it is suspended.
struct SuspendCause {
  std::optional<LeaseId> yields_to = {};
  bool turn = false;
};

/// On which a lease is requeued.
struct RequeueTerms {
  bool unsaved = false;  // Also if it does not save itself.
  std::optional<UserId> by = {};
};

/// What the last samples told of a device, beside its account.
struct KnownDevice {
  std::string pci_bus;
  std::string trouble;
  bool asleep = false;
  Instant asked_at;
  std::optional<Bytes> used;
  std::optional<Bytes> driver_reserved;
  bool lists_processes = false;  // The driver lists them.
  bool ever_listed = false;      // It has listed them before.
  std::optional<Instant> sampled_at;
  std::vector<UnmanagedProcess> unmanaged_processes;

  // With `unmanaged = "warn"`: who was told of, how he was last seen, and when.
  struct Announced {
    UnmanagedProcess unmanaged_process;
    Instant seen_at;
  };
  std::map<Process, Announced> announced;
  Trend unmanaged_trend;  // What is unmanaged.
  bool rises = false;     // And more so than in the last seconds.
  PressureState pressure_state;
  Pressure measured = Pressure::kNormal;  // By the last sample.
  EscalationState for_unmanaged;
  std::map<LeaseId, std::size_t> next_ladder_step;  // Of the leases that were chosen for that.
  std::optional<Bytes> owed;                        // What its leases may still take.
};

/// What the processes on one device use.
struct Attributed {
  Bytes ours;     // Known figures of processes of leases.
  Bytes assumed;  // What their processes without a figure may use beside that.
  Bytes theirs;   // Known figures of unmanaged processes.
  Bytes outside;  // Of these, of those who live and never had a lease.
};

struct UserCount {
  std::uint32_t waiting = 0;
  std::uint32_t held = 0;
  Bytes vram;
};

}  // namespace berth::core
