// SPDX-License-Identifier: Apache-2.0
// Times at which the probe is asked: each sample_interval while anybody uses, waits or looks; each
// half minute for some minutes after that, and then no more, so that the GPUs of an idle machine
// may sleep; and whenever the coordinator wants to know. One question at a time.
#pragma once

#include <optional>

#include "base/units.h"

namespace berth::server {

class ProbeSchedule {
 public:
  static constexpr Duration kIdleEvery = seconds(30);
  static constexpr Duration kIdleFor = minutes(5);       // Then nobody asks any more.
  static constexpr Duration kLookedAtFor = seconds(30);  // A look keeps figures fresh so long.
  static constexpr Duration kOldAfter = seconds(2);

  explicit ProbeSchedule(Duration every) : every_(every) {}

  void configure(Duration every) { every_ = every; }
  /// The coordinator wants a look at this instant, or as soon as the probe is free.
  void want(Instant at);
  /// There is a lease, a waiter or a listener.
  void used(Instant now) { used_at_ = now; }
  void want_fresh_sample(Instant now) { looked_at_until_ = now + kLookedAtFor; }
  void asked(Instant now);
  void answered(Instant now);

  /// When to ask next; never while a question is open. `busy`: there is a lease, a waiter or a
  /// listener.
  Instant next(bool busy) const;
  /// Nobody looked for a while: a client that does now should wait for a fresh answer.
  bool is_cold(Instant now, bool busy) const;

 private:
  bool is_fresh(bool busy) const;

  Duration every_;
  std::optional<Instant> answered_at_;  // Regular questions are spaced from the last answer.
  Instant wanted_at_;                   // 0 at the start: the first question is due at once.
  Instant used_at_;
  Instant looked_at_until_;
  bool open_ = false;  // A question is not yet answered.
};

}  // namespace berth::server
