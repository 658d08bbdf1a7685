// SPDX-License-Identifier: Apache-2.0
// What the coordinator knows beside its State: of leases, of devices, and whose a process is. It
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

#include "core/climb.h"
#include "core/effect.h"
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
  bool untold = false;  // The driver lists a process and gives no figure for it.
  Bytes last;           // What was known before it was untold.
  Bytes may_be;         // The budget before it shrank, until a sample tells what is really used.

  // By the account of the lease's own programs; see Note [Two accounts].
  std::optional<Bytes> ledger;
  Bytes ledger_peak;
  std::uint64_t refused = 0;          // Allocations.
  Bytes wanted;                       // By those that wait for room.
  std::optional<std::int64_t> drift;  // What the driver told beyond the ledger, in bytes.
  Bytes beyond;                       // What it told that neither ledger nor context explains.
  Bytes unaccounted;                  // What is counted as used of that.
  Bytes excess;                       // Charged for contexts that cost less; as last seen at rest.
  bool may_give_back = false;         // That excess: nothing is hidden behind it.

  Trend trend;  // Of whichever account is the higher.

  Bytes highest() const { return std::max(peak, ledger_peak); }
  /// By whichever account has more now.
  Bytes higher_now() const { return std::max(now.value_or(Bytes{}), ledger.value_or(Bytes{})); }
};

/// Who waits to hear how a save went.
struct CheckpointAsker {
  Token token;
  Instant until;
};

/// What a program has told of how far it is.
struct ProgressTold {
  Progress last;
  Instant at;
  std::uint64_t done_first = 0;  // How fast it goes is counted from here:
  Instant first_at;              // the first report since it runs, or since it began anew.

  std::optional<ToldEnd> end() const {
    return last.left ? std::optional(ToldEnd{.at = at, .left = *last.left}) : std::nullopt;
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
  bool killed = false;                     // SIGKILL was sent.
  bool freed = false;                      // Releasing, and the driver lists nothing of it.
  Direction direction = Direction::kOut;   // Of the move of its memory under way,
  std::uint64_t move = 0;                  // whose number this is; 0: none.
  std::optional<Instant> reconnect_until;  // Until then an absent asker keeps his turn.
  Instant claim_until = Instant::never();
  std::map<DeviceId, Use> use;
  Felt felt;
  std::array<Climb, kCauseCount> climbs;  // By cause.
  std::string excess;                     // How it is above its budget, for people.
  std::string not_moved;                  // Why its last suspension came to nothing.
  std::string not_stopped;                // The same, of its last requeue.
  Steady steady;
  bool rises = false;  // It uses more than in the last seconds.
  std::optional<Duration> full_in;
  std::optional<Instant> confirm_since;  // It moves back when a sample after this tells of room.
  std::string stuck;                     // Why a move ended between two states.
  std::vector<Token> move_tokens;        // Who waits to hear what comes of it.
  std::vector<Token> halt_tokens;        // Likewise of its processes being stopped, or going on.
  std::vector<Token> go_tokens;          // They are to go on as soon as all are stopped.
  std::vector<DeviceId> moves_to;        // Where it returns when it has left; empty: as it was.
  std::optional<UserId> moves_by;        // Who wants that.
  Instant yields_from;                   // Before this it is not asked again to make room,
  Instant turn_from;                     // nor does its turn end,
  Instant returns_from;                  // nor is it brought back for the next,
  Instant goes_on_from;                  // nor let go on because its pause is over.
  TurnCost turn_cost;
  Instant turn_over = Instant::never();  // Somebody waits for the end of its turn, which is then.
  std::optional<LeaseId> turn_for;       // It leaves so that this one has its turn.
  Instant left_at;                       // Its memory was away from then on.
  bool left_measured = false;            // And nobody has tried to bring it back since.
  Instant return_begun;
  Instant move_begun;
  std::optional<Instant> settle_since;  // Only a sample asked after this tells what is left.
  std::optional<Instant> shrunk_at;     // Only a sample asked after this tells what came free.
  bool shrink_told = false;  // A sample asked after it has told what it left, while it is away.
  std::vector<Process> leftovers;              // Told by the supervisor; not known to use a device.
  std::optional<Token> growth_token;           // Who waits for the growth.
  std::optional<LeaseResized> budgets_before;  // To take the last resize back.
  std::optional<Token> exit_token;             // Who waits to hear what the command left behind.
  Instant exit_answer_by = Instant::never();
  std::set<std::pair<DeviceId, Process>> strays_told;  // Of which somebody has heard.
  std::vector<CheckpointAsker> checkpoint_askers;
  std::set<std::int32_t> left_alone;        // Pids of others', by the last pause or end.
  std::set<std::int32_t> left_alone_told;   // Pids of which the log has heard.
  std::vector<Token> requeue_askers;        // Who waits for it to wait again.
  Instant begins_until = Instant::never();  // Until then its `berth run` begins to stop it.
  std::optional<ProgressTold> progress;
  Bytes used_before_cleanup;

  std::optional<ToldEnd> told_end() const { return progress ? progress->end() : std::nullopt; }

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
  Climb& climb_for(Cause cause) { return climbs[static_cast<std::size_t>(cause)]; }
  /// By each sample since `over_budget_tolerance` was passed.
  bool is_above() const {
    return climbs[static_cast<std::size_t>(Cause::kOverBudget)].since.has_value();
  }
};

/// Why it is suspended.
struct Leave {
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
  bool tells_processes = false;  // The driver lists them.
  bool ever_told = false;        // It has listed them before.
  std::optional<Instant> sampled_at;
  std::vector<StrangerView> strangers;

  // With `unmanaged = "warn"`: who was told of, how he was last seen, and when.
  struct Told {
    StrangerView stranger;
    Instant seen_at;
  };
  std::map<Process, Told> told;
  Trend outsiders;     // What is external.
  bool rises = false;  // And more so than in the last seconds.
  Felt felt;
  Pressure measured = Pressure::kNormal;  // By the last sample.
  Climb for_strangers;
  std::map<LeaseId, std::size_t> next_rung;  // Of the leases that were chosen for that.
  std::optional<Bytes> owed;                 // What its leases may still take.
};

/// What the processes on one device use.
struct Attributed {
  Bytes ours;     // Known figures of processes of leases.
  Bytes assumed;  // What their processes without a figure may use beside that.
  Bytes theirs;   // Known figures of strangers.
  Bytes outside;  // Of these, of those who live and never had a lease.
};

struct UserCount {
  std::uint32_t waiting = 0;
  std::uint32_t held = 0;
  Bytes vram;
};

}  // namespace berth::core
