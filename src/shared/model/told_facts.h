// SPDX-License-Identifier: Apache-2.0
// Facts that change nothing and are for people, each with its table of fields as those of
// model/facts.h, and the verbs by which the audit tells of these and of all others.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/fields.h"
#include "base/ids.h"
#include "base/quantity.h"
#include "base/size_argument.h"
#include "base/units.h"
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
  kHold,
  kUnhold,  // A request that was on hold may be granted again.
  kEdit,    // Of a request that waits.
  kRequeue,
  kRetry,  // Its command has failed, and is started again.
  kCheckpoint,
  kRenew,
  kReload,   // Of the configuration; of no lease.
  kRefuse,   // An allocation, by its budget.
  kMessage,  // Something was asked of its holder.
  kAnswer,   // What the holder said to that.
};
constexpr auto words_of(Verb) {
  using enum Verb;
  return make_words<Verb>({{kGrant, "grant"},     {kEnd, "end"},       {kCancel, "cancel"},
                           {kRelease, "release"}, {kDetach, "detach"}, {kLimit, "limit"},
                           {kPause, "pause"},     {kResume, "resume"}, {kPreempt, "preempt"},
                           {kMeasure, "measure"}, {kMove, "move"},     {kResize, "resize"},
                           {kHold, "hold"},       {kUnhold, "unhold"}, {kEdit, "edit"},
                           {kRequeue, "requeue"}, {kRetry, "retry"},   {kCheckpoint, "checkpoint"},
                           {kRenew, "renew"},     {kReload, "reload"}, {kRefuse, "refuse"},
                           {kMessage, "message"}, {kAnswer, "answer"}});
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

struct AllocationRefused {
  static constexpr Verb kVerb = Verb::kRefuse;
  LeaseId id;
  DeviceId device;
  Bytes bytes;  // Of the last one.
  Bytes used;   // Of the budget, then.
  Bytes budget;
  std::optional<Bytes> enough;  // The budget that would have allowed it; absent: none would.
  std::uint64_t count = 1;      // With those since the last such record.

  std::string reason() const {
    const std::string cure =
        enough ? "-m " + size_argument(*enough) + " would have allowed it" : "none would allow it";
    return to_text(bytes) + ", with " + to_text(used) + " of " + to_text(budget) + " in use" +
           (count > 1 ? ", the last of " + std::to_string(count) : "") + ": " + cure;
  }
};
constexpr auto fields_of(Is<AllocationRefused> auto*) {
  return fields(
      {"allocation_refused",
       "A budget refused an allocation, the last of `count` since the last such record. At most "
       "one a minute of a lease on a device."},
      field("id", &AllocationRefused::id).required(),
      field("uuid", &AllocationRefused::device).required(),
      field("vram", &AllocationRefused::bytes).required(),
      field("vram_used", &AllocationRefused::used).required(),
      field("vram_granted", &AllocationRefused::budget).required(),
      field("vram_enough", &AllocationRefused::enough),
      field("count", &AllocationRefused::count).required());
}

/// `Facts`, and all that are only told: a new one is the last.
template <class... Facts>
using AndToldFacts = std::variant<Facts..., AllocationRefused>;

}  // namespace berth
