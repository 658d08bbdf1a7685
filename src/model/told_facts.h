// SPDX-License-Identifier: Apache-2.0
// Facts that change nothing and are for people, each with its table of fields as those of
// model/facts.h, and the verbs by which the audit tells of these and of all others.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <variant>

#include "base/words.h"

namespace berth {

/// What was done, as the audit has it.
enum class Verb : std::uint8_t {
  kGrant,
  kEnd,
  kCancel,
  kRelease,
  kDetach,
  kLimit,  // Its time is over, and it is told to end.
  kPause,
  kResume,
  kPreempt,  // It makes room for an urgent request.
  kMeasure,  // The daemon does something about pressure.
  kMove,
  kResize,
  kRequeue,
  kCheckpoint,
  kRenew,
  kReload,  // Of the configuration; of no lease.
};
constexpr auto words_of(Verb) {
  using enum Verb;
  return make_words<Verb>({{kGrant, "grant"},
                           {kEnd, "end"},
                           {kCancel, "cancel"},
                           {kRelease, "release"},
                           {kDetach, "detach"},
                           {kLimit, "limit"},
                           {kPause, "pause"},
                           {kResume, "resume"},
                           {kPreempt, "preempt"},
                           {kMeasure, "measure"},
                           {kMove, "move"},
                           {kResize, "resize"},
                           {kRequeue, "requeue"},
                           {kCheckpoint, "checkpoint"},
                           {kRenew, "renew"},
                           {kReload, "reload"}});
}

// Note [Facts that are only told]
//
// Such a fact names its verb, kVerb, and says the rest in a reason(). State and reference model
// take it wherever its lease is known; the log and the past have it, and streams by the event
// `audit`. Nothing else has to know it.

/// See Note [Facts that are only told].
template <class Fact>
concept OnlyTold = requires(const Fact& fact) {
  { Fact::kVerb } -> std::convertible_to<Verb>;
  { fact.reason() } -> std::same_as<std::string>;
};

/// `Facts`, and all that are only told: a new one is the last.
template <class... Facts>
using AndToldFacts = std::variant<Facts...>;

}  // namespace berth
