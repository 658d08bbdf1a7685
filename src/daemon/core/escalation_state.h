// SPDX-License-Identifier: Apache-2.0
// Progress up a ladder of measures. Pure values that the coordinator keeps beside its account; they
// die with the daemon, and the times begin anew.
#pragma once

#include <cstddef>
#include <optional>

#include "base/units.h"

namespace berth::core {

struct EscalationState {
  std::optional<Instant> since;       // Its cause holds in each sample since.
  std::optional<Instant> calm_since;  // It holds no more.
  std::optional<Instant> exhausted;   // All rungs were climbed.
  std::size_t next = 0;               // The rung that is next.

  /// The episode is over when the cause has not held for ten seconds; its times begin anew with
  /// each sample in which it does not.
  void note(bool holds, Instant at);
  /// From the lowest rung on, as if the cause held from here.
  void begin_again(Instant at) {
    *this = {};
    since = at;
  }
};

/// What a lease uses, as long as it has not changed.
struct Unchanged {
  Bytes bytes;
  Instant since;
};

}  // namespace berth::core
