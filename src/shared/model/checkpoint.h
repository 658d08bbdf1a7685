// SPDX-License-Identifier: Apache-2.0
// Saves on request: whether the program of a lease can be asked to save itself, who asked, and how
// it went. How it is done is known to `berth run` alone, which does it. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "base/units.h"
#include "base/words.h"

namespace berth {

enum class CheckpointKind : std::uint8_t { kSignal, kCmd, kHttp, kLibrary };
constexpr auto words_of(CheckpointKind) {
  using enum CheckpointKind;
  return make_words<CheckpointKind>(
      {{kSignal, "signal"}, {kCmd, "cmd"}, {kHttp, "http"}, {kLibrary, "library"}});
}

enum class CheckpointReason : std::uint8_t {
  kAsked,     // By `berth checkpoint`.
  kPeriodic,  // --checkpoint-every
  kLimit,     // Before --limit ends it.
  kPressure,
  kSuspend,
  kRequeue,
};
constexpr auto words_of(CheckpointReason) {
  using enum CheckpointReason;
  return make_words<CheckpointReason>({{kAsked, "asked"},
                                       {kPeriodic, "periodic"},
                                       {kLimit, "limit"},
                                       {kPressure, "pressure"},
                                       {kSuspend, "suspend"},
                                       {kRequeue, "requeue"}});
}

/// kSaved alone is a save. What nobody could confirm is none.
enum class CheckpointOutcome : std::uint8_t {
  kSaved,
  kUnconfirmed,  // It was asked, and nothing tells whether it did.
  kFailed,
  kTimedOut,
  kUncaught,  // The program does not catch the signal, and was not sent it: it would have died.
  kGone,      // Nobody is there to ask: its `berth run` is gone.
};
constexpr auto words_of(CheckpointOutcome) {
  using enum CheckpointOutcome;
  return make_words<CheckpointOutcome>({{kSaved, "saved"},
                                        {kUnconfirmed, "unconfirmed"},
                                        {kFailed, "failed"},
                                        {kTimedOut, "timed_out"},
                                        {kUncaught, "uncaught"},
                                        {kGone, "gone"}});
}

/// That a program can be asked, and how long it may take.
struct CheckpointWay {
  CheckpointKind kind = CheckpointKind::kSignal;
  Duration grace = seconds(60);
  std::optional<Duration> every;  // Ask by itself.
  friend constexpr auto operator<=>(const CheckpointWay&, const CheckpointWay&) = default;
};
constexpr auto fields_of(Is<CheckpointWay> auto*) {
  return fields({"CheckpointWay", "How a program can be asked to save itself."},
                field("by", &CheckpointWay::kind, "What its supervisor does.").required(),
                field("grace", &CheckpointWay::grace,
                      "How long a save may take, a day at most; 60 s if absent.")
                    .required(side::kJournal)
                    .written(side::kBody),
                field("every", &CheckpointWay::every,
                      "It is asked that often without anybody saying so, once a second at most."));
}

/// Under way.
struct CheckpointAsk {
  std::uint64_t number = 0;  // Of a lease, from 1.
  CheckpointReason reason = CheckpointReason::kAsked;
  UnixMs at;
  friend auto operator<=>(const CheckpointAsk&, const CheckpointAsk&) = default;
};
constexpr auto fields_of(Is<CheckpointAsk> auto*) {
  return fields(
      {"CheckpointAsk", "A save under way."},
      field("number", &CheckpointAsk::number, "Of the lease's saves, from 1.").required().from(1),
      field("reason", &CheckpointAsk::reason, "Why it was asked for.").required(side::kJournal),
      field("at", &CheckpointAsk::at, "When.")
          .required(side::kJournal)
          .called("time", side::kWire));
}

/// Over.
struct CheckpointEnd {
  std::uint64_t number = 0;
  CheckpointReason reason = CheckpointReason::kAsked;
  CheckpointOutcome outcome = CheckpointOutcome::kFailed;
  std::string detail;  // For people.
  UnixMs at;
  friend auto operator<=>(const CheckpointEnd&, const CheckpointEnd&) = default;
};
constexpr auto fields_of(Is<CheckpointEnd> auto*) {
  return fields(
      {"CheckpointEnd", "A save that is over."},
      field("number", &CheckpointEnd::number, "Of the lease's saves, from 1.").required().from(1),
      field("reason", &CheckpointEnd::reason, "Why it was asked for.").required(side::kJournal),
      field("at", &CheckpointEnd::at, "When it was over.")
          .required(side::kJournal)
          .called("time", side::kWire)
          .journal_after("detail"),
      field("outcome", &CheckpointEnd::outcome, "Only what was confirmed is saved.")
          .required(side::kJournal),
      field("detail", &CheckpointEnd::detail,
            "For people; null where there is none, or command lines are not shown to you.")
          .kept_from(Secret::kCommand));
}

/// What is known of the saves of one lease.
struct Checkpoints {
  std::optional<CheckpointAsk> asked;
  std::optional<CheckpointEnd> last;
  std::optional<UnixMs> saved;  // When the last confirmed save was over.
  bool empty() const { return !asked && !last && !saved; }
  friend auto operator<=>(const Checkpoints&, const Checkpoints&) = default;
};
constexpr auto fields_of(Is<Checkpoints> auto*) {
  return fields({}, field("asked", &Checkpoints::asked, "The save under way."),
                field("last", &Checkpoints::last, "The one before it."),
                field("saved", &Checkpoints::saved, "When the last confirmed save was over."));
}

}  // namespace berth
