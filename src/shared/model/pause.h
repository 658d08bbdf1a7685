// SPDX-License-Identifier: Apache-2.0
// Why a lease that was granted does not run: a user paused it, or it makes room. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/fields.h"
#include "base/ids.h"
#include "base/units.h"
#include "base/words.h"
#include "model/ladder.h"
#include "model/request.h"

namespace berth {

/// A user wants it to stay suspended or frozen, until they let it go on.
struct Pause {
  UnixMs since;
  std::string reason = {};  // Theirs; empty: they gave none.
  std::optional<UnixMs> until = {};
  std::optional<UserId> by = {};  // Absent: an older daemon wrote it down.
  friend bool operator==(const Pause&, const Pause&) = default;
};
constexpr auto fields_of(Is<Pause> auto*) {
  return fields(
      {"Paused", "Somebody wants it to stay suspended or frozen."},
      field("since", &Pause::since, "When they said so the last time.").required(side::kJournal),
      field("until", &Pause::until, "Then it goes on by itself; null: when it is resumed.")
          .journal_after("reason"),
      field("reason", &Pause::reason, "Theirs, for others to read."),
      field("by", &Pause::by, "Who asked for it; null: it was not written down."));
}

/// A request is not to be granted until a user lets it.
struct OnHold {
  UnixMs since;
  std::optional<UserId> by = {};  // Absent: nobody; then there is a reason.
  std::string reason = {};
  friend bool operator==(const OnHold&, const OnHold&) = default;
};
constexpr auto fields_of(Is<OnHold> auto*) {
  return fields({"OnHold", "A request is kept from being granted."},
                field("since", &OnHold::since, "Since when it is.").required(side::kJournal),
                field("by", &OnHold::by, "Who keeps it; null: the daemon, for its reason."),
                field("reason", &OnHold::reason, "The daemon's: the jobs of a set fail.")
                    .left_out(side::kJournal));
}

/// Why a lease that was granted is suspended or frozen, and for whom.
struct Halt {
  enum class Reason : std::uint8_t {
    kPaused,       // A user asked for it: LeaseView::pause.
    kYields,       // It makes room for `lease`.
    kTurn,         // Its turn is over.
    kMoves,        // It goes on on other devices.
    kMeasure,      // A measure for `cause`.
    kReturns,      // It is let go on, and waits for room or is on its way back.
    kNotReturned,  // It could not be brought back, and nobody tries again unasked.
  };
  Reason reason = Reason::kPaused;
  UnixMs since;
  std::optional<Cause> cause = {};
  std::optional<LeaseId> lease = {};  // For which it left. The rest is of that one.
  UserId user = {};
  std::string name = {};
  Priority priority = Priority::kNormal;
  std::optional<Duration> idle = {};  // How long it had been when it left for that.
  friend bool operator==(const Halt&, const Halt&) = default;
};
constexpr auto words_of(Halt::Reason) {
  using enum Halt::Reason;
  return make_words<Halt::Reason>({{kPaused, "paused"},
                                   {kYields, "yields"},
                                   {kTurn, "turn"},
                                   {kMoves, "moves"},
                                   {kMeasure, "measure"},
                                   {kReturns, "returns"},
                                   {kNotReturned, "not_returned"}});
}
/// The lease of a Halt as it is told.
struct YieldedTo {
  LeaseId lease;
  UserId user;
  std::string name;
  Priority priority = Priority::kNormal;
};
constexpr auto fields_of(Is<YieldedTo> auto*) {
  return fields({"HaltedFor", "A lease for which another was suspended."},
                field("id", &YieldedTo::lease, "Of the lease.").from(1),
                field("user", &YieldedTo::user, "Whose it is."),
                field("name", &YieldedTo::name, "Of the lease."),
                field("priority", &YieldedTo::priority, "Of the lease."));
}
constexpr auto fields_of(Is<Halt> auto*) {
  const auto told = [](const Halt& halt) -> std::optional<YieldedTo> {
    if (!halt.lease) return std::nullopt;
    return YieldedTo{*halt.lease, halt.user, halt.name, halt.priority};
  };
  const auto read = [](Halt& halt, YieldedTo whom) {
    halt.lease = whom.lease;
    halt.user = whom.user;
    halt.name = std::move(whom.name);
    halt.priority = whom.priority;
  };
  return fields({"Halted", "Why a lease that was granted does not run."},
                field("reason", &Halt::reason, "What made it leave, or that it is on its way back.")
                    .skipping_unknown(),
                field("since", &Halt::since, "When it began."),
                field("cause", &Halt::cause, "With `measure`: of which.").skipping_unknown(),
                computed("for", "With `yields`: the lease that it makes room for.", told, read),
                field("idle", &Halt::idle,
                      "With `yields`: how long it had been idle when it left; null: it was not."));
}

}  // namespace berth
