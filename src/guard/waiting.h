// SPDX-License-Identifier: Apache-2.0
// Waiting for room in the budget instead of being refused (`berth run --on-full wait=…`): one
// thread's wait for one charge. No lock of the guard may be held meanwhile.
#pragma once

#include <cstdint>

#include "guard/ledger.h"

namespace berth::guard {

/// How long BERTH_ON_FULL lets a program wait, in nanoseconds; 0: it is refused at once.
std::uint64_t wait_on_full(const char* variable);

/// What this thread must not be made to wait in.
struct Hurry {
  std::uint32_t captures = 0;   // Streams that it captures.
  std::uint32_t callbacks = 0;  // Of the driver's.
  std::uint32_t parts = 0;      // It holds a part of what it needs.
};
inline constinit thread_local Hurry hurry = {};

/// One thread's wait for what the dead, and those about to be, have charged to be cleared: until
/// the driver has freed it, by the daemon's word, or until it is seen that no daemon is there. See
/// Note [What the dead have].
class WaitForDead {
 public:
  struct Patience {
    std::uint64_t most = 5'000'000'000;    // In nanoseconds.
    std::uint64_t daemon = 3'000'000'000;  // Since it looked last.
    std::uint64_t looks = UINT64_MAX;      // So often it may say that the driver has it still.
    std::uint64_t every = 10'000'000;
  };
  WaitForDead(Ledger& ledger, std::uint32_t device, const Patience& patience)
      : ledger_(ledger), device_(device), patience_(patience) {}
  WaitForDead(Ledger& ledger, std::uint32_t device) : WaitForDead(ledger, device, Patience()) {}

  /// Sleeps a little, or it is to be tried at once. False: none of them has anything there, or it
  /// is not to be waited for.
  bool goes_on();

 private:
  Ledger& ledger_;
  const std::uint32_t device_;
  const Patience patience_;
  std::uint64_t begun_ = 0;  // By CLOCK_MONOTONIC, in nanoseconds; 0: not yet.
  std::uint64_t looked_ = 0;
  std::uint64_t looks_before_ = 0;
  std::uint64_t looks_ = 0;
  bool may_have_missed_one_ = true;
};

class Waiting {
 public:
  struct What {
    std::uint32_t device = 0;
    std::uint64_t bytes = 0;
    std::uint64_t beside = 0;    // What this process has there and cannot free meanwhile.
    std::uint64_t duration = 0;  // In nanoseconds; 0: it does not wait.
    std::uint64_t stuck_after = duration / 2;
    std::uint64_t look_every = 100'000'000;  // For what wakes nobody.
  };
  /// The charge did not fit. It is to be tried again after this, and after each goes_on().
  Waiting(Ledger& ledger, const What& what);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  /// Sleeps until something has come free, and not for long at once. False: it must be refused now.
  bool goes_on();

 private:
  bool is_shown() const { return shown_.since != 0; }
  bool can_ever_fit() const;
  bool is_stuck(std::uint64_t now);

  Ledger& ledger_;
  const What what_;
  Ledger::Wait shown_;  // Since 0: it does not wait.
  std::uint32_t before_ = 0;
  std::uint64_t movement_ = 0;
  std::uint64_t still_since_ = 0;  // Since then it is what it was.
};

}  // namespace berth::guard
