// SPDX-License-Identifier: Apache-2.0
// Length of the turn of a lease that shares its device in turns, and the choice of the turn that
// ends for another's. Pure figures: who is next is the queue's matter, and slices.cc brings the two
// together.
//
// Note [How long a turn is]: to take turns costs time in which nobody works: the one goes, the
// other comes. A lease pays for its own moves, there and back: its turn lasts so many times what
// they took the last time that at most the configured part of the time is lost, and never less than
// the configured least. Before anything was measured its cost is guessed from what it uses. What is
// measured higher is believed at once, what is lower by half: turns rather grow than thrash.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "core/settings.h"

namespace berth::core {

struct Lease;

/// Who waits for its first turn, and where it may have it.
struct FirstTurn {
  const Lease* lease = nullptr;
  std::vector<DeviceId> where;
};

/// What the moves of one lease cost, as far as they were measured.
class TurnCost {
 public:
  void measured_out(Duration took) { learn(out_, took); }
  void measured_back(Duration took) { learn(back_, took); }
  /// To go and to come back, with so much in use.
  Duration of(Bytes used) const;

 private:
  static void learn(std::optional<Duration>& known, Duration took);

  std::optional<Duration> out_;
  std::optional<Duration> back_;
};

/// One move of so much, as long as nothing is known.
Duration guessed_move(Bytes bytes);

Duration turn_length(Duration cost, const TurnTerms& terms);

/// A lease whose turn it is.
struct Running {
  LeaseId lease;
  Bytes frees;   // What comes free when its turn ends.
  Instant over;  // Its turn may end from then on.
};

struct TurnEnds {
  std::vector<LeaseId> leases;    // Whose turn ends. None: room comes without that, or never.
  Instant at = Instant::never();  // When it does.
};
/// Of those that must go for `missing` bytes: whose turn is over first, and none that is not
/// needed. They go together, when it is over for all of them.
TurnEnds who_ends_turn(std::vector<Running> running, Bytes missing);

}  // namespace berth::core
