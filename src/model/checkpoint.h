// SPDX-License-Identifier: Apache-2.0
// Saves on request: whether the program of a lease can be asked to save itself, who asked, and how
// it went. How it is done is known to `berth run` alone, which does it. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace berth {

enum class CheckpointKind : std::uint8_t { kSignal, kCmd, kHttp, kLibrary };

enum class CheckpointReason : std::uint8_t {
  kAsked,     // By `berth checkpoint`.
  kPeriodic,  // --checkpoint-every
  kLimit,     // Before --limit ends it.
  kPressure,
  kSuspend,
  kRequeue,
};

/// kSaved alone is a save. What nobody could confirm is none.
enum class CheckpointOutcome : std::uint8_t {
  kSaved,
  kUnconfirmed,  // It was asked, and nothing tells whether it did.
  kFailed,
  kTimedOut,
  kUncaught,  // The program does not catch the signal, and was not sent it: it would have died.
  kGone,      // Nobody is there to ask: its `berth run` is gone.
};

/// That a program can be asked, and how long it may take.
struct CheckpointWay {
  CheckpointKind kind = CheckpointKind::kSignal;
  Duration grace = seconds(60);
  std::optional<Duration> every;  // Ask by itself.
  friend constexpr auto operator<=>(const CheckpointWay&, const CheckpointWay&) = default;
};

/// Under way.
struct CheckpointAsk {
  std::uint64_t number = 0;  // Of a lease, from 1.
  CheckpointReason reason = CheckpointReason::kAsked;
  UnixMs at;
  friend auto operator<=>(const CheckpointAsk&, const CheckpointAsk&) = default;
};

/// Over.
struct CheckpointEnd {
  std::uint64_t number = 0;
  CheckpointReason reason = CheckpointReason::kAsked;
  CheckpointOutcome outcome = CheckpointOutcome::kFailed;
  std::string detail;  // For people.
  UnixMs at;
  friend auto operator<=>(const CheckpointEnd&, const CheckpointEnd&) = default;
};

/// What is known of the saves of one lease.
struct Checkpoints {
  std::optional<CheckpointAsk> asked;
  std::optional<CheckpointEnd> last;
  std::optional<UnixMs> saved;  // When the last confirmed save was over.
  bool empty() const { return !asked && !last && !saved; }
  friend auto operator<=>(const Checkpoints&, const Checkpoints&) = default;
};

std::string_view to_text(CheckpointKind kind);
std::string_view to_text(CheckpointReason reason);
std::string_view to_text(CheckpointOutcome outcome);
std::optional<CheckpointKind> parse_checkpoint_kind(std::string_view word);
std::optional<CheckpointReason> parse_checkpoint_reason(std::string_view word);
std::optional<CheckpointOutcome> parse_checkpoint_outcome(std::string_view word);

}  // namespace berth
