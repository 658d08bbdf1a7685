// SPDX-License-Identifier: Apache-2.0
// The words for closed sets, once: output, JSON, the journal and metrics all use these.
#include <array>
#include <cstddef>
#include <span>

#include "base/check.h"
#include "model/checkpoint.h"
#include "model/ladder.h"
#include "model/lease.h"
#include "model/record.h"
#include "model/refusal.h"
#include "model/view.h"

namespace berth {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::array<std::string_view, 4> kPriorities = {"low", "normal", "high", "urgent"};
constexpr std::array<std::string_view, 3> kShares = {"budget", "exclusive", "slice"};
constexpr std::array<std::string_view, 3> kLeftovers = {"wait", "kill", "release"};
constexpr std::array<std::string_view, 4> kOverBudget = {"fail", "notify", "kill", "suspend"};
constexpr std::array<std::string_view, 3> kPressures = {"normal", "warn", "critical"};
constexpr std::array<std::string_view, 5> kStates = {"waiting", "held", "suspended", "releasing",
                                                     "ended"};
constexpr std::array<std::string_view, 9> kResults = {
    "ok", "failed", "killed", "cancelled", "limit", "refused", "lost", "over_budget", "detached"};
constexpr std::array<std::string_view, 18> kRefusals = {"invalid",
                                                        "never_fits",
                                                        "no_device",
                                                        "busy",
                                                        "queue_full",
                                                        "not_found",
                                                        "not_yours",
                                                        "wrong_state",
                                                        "would_wait_on_itself",
                                                        "would_wait_for_each_other",
                                                        "inside_lease",
                                                        "disk_full",
                                                        "safe_mode",
                                                        "not_supported",
                                                        "ambiguous",
                                                        "not_moved",
                                                        "not_requeued",
                                                        "running"};
constexpr std::array<std::string_view, 8> kRemedies = {
    "ask_less",      "pause_lease",  "shrink_lease", "other_device",
    "requeue_lease", "cancel_lease", "end_programs", "release_lease"};
constexpr std::array<std::string_view, 23> kReasons = {
    "not_waiting",   "memory",     "turn",        "exclusive",       "strangers",
    "overcommitted", "driver",     "parked",      "not_reconnected", "claim",
    "passed",        "user_limit", "stopped",     "probing",         "slices",
    "above_limit",   "outlived",   "paused",      "yields",          "moves",
    "measure",       "returns",    "not_returned"};
constexpr std::array<std::string_view, 3> kLimitKinds = {"leases", "vram", "device"};
constexpr std::array<std::string_view, 7> kHaltReasons = {
    "paused", "yields", "turn", "moves", "measure", "returns", "not_returned"};
constexpr std::array<std::string_view, 4> kRequeueSteps = {"saving", "asked", "stopping",
                                                           "stopped"};
constexpr std::array<std::string_view, 4> kCheckpointKinds = {"signal", "cmd", "http", "library"};
constexpr std::array<std::string_view, 6> kCheckpointReasons = {"asked",    "periodic", "limit",
                                                                "pressure", "suspend",  "requeue"};
constexpr std::array<std::string_view, 6> kCheckpointOutcomes = {
    "saved", "unconfirmed", "failed", "timed_out", "uncaught", "gone"};
constexpr std::array<std::string_view, 6> kMeasures = {"notify",  "cleanup", "checkpoint",
                                                       "suspend", "requeue", "kill"};
constexpr std::array<std::string_view, 4> kCauses = {"lease_critical", "device_critical",
                                                     "strangers", "over_budget"};
constexpr std::array<std::string_view, 3> kMeasureOutcomes = {"confirmed", "failed", "refused"};
constexpr std::array<std::string_view, 37> kFacts = {
    "request_queued",   "request_passed",    "request_parked",  "lease_granted",
    "offer_lapsed",     "lease_claimed",     "member_seen",     "member_gone",
    "command_ended",    "lease_resized",     "growth_queued",   "growth_dropped",
    "lease_renewed",    "lease_revoked",     "lease_releasing", "lease_ended",
    "checkpoint_asked", "checkpoint_ended",  "lease_restored",  "usage_restored",
    "command_restored", "counters_restored", "suspend_begun",   "lease_suspended",
    "resume_queued",    "resume_begun",      "lease_resumed",   "requeue_asked",
    "requeue_begun",    "requeue_dropped",   "lease_requeued",  "lease_frozen",
    "lease_thawed",     "measure_begun",     "measure_ended",   "lease_paused",
    "lease_moved"};
static_assert(kFacts.size() == std::variant_size_v<AnyFact>);

template <class Enum>
std::string_view word_of(Words words, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  CHECK(index < words.size());
  return words[index];
}

template <class Enum>
std::optional<Enum> value_of(Words words, std::string_view word) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == word) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_text(Priority priority) {
  return word_of(kPriorities, priority);
}
std::string_view to_text(Share share) {
  return word_of(kShares, share);
}
std::string_view to_text(Leftovers leftovers) {
  return word_of(kLeftovers, leftovers);
}
std::string_view to_text(OverBudget measure) {
  return word_of(kOverBudget, measure);
}
std::string_view to_text(Pressure pressure) {
  return word_of(kPressures, pressure);
}
std::string_view to_text(LeaseState state) {
  return word_of(kStates, state);
}
std::string_view to_text(EndResult result) {
  return word_of(kResults, result);
}
std::string_view to_text(RequeueStep step) {
  return word_of(kRequeueSteps, step);
}
std::string_view to_text(RefusalCode code) {
  return word_of(kRefusals, code);
}
std::string_view to_text(Remedy::Kind kind) {
  return word_of(kRemedies, kind);
}
std::string_view to_text(WhyView::Reason reason) {
  return word_of(kReasons, reason);
}
std::string_view to_text(LoweredLimit::Kind kind) {
  return word_of(kLimitKinds, kind);
}
std::string_view to_text(Halt::Reason reason) {
  return word_of(kHaltReasons, reason);
}
std::string_view to_text(CheckpointKind kind) {
  return word_of(kCheckpointKinds, kind);
}
std::string_view to_text(CheckpointReason reason) {
  return word_of(kCheckpointReasons, reason);
}
std::string_view to_text(CheckpointOutcome outcome) {
  return word_of(kCheckpointOutcomes, outcome);
}
std::string_view to_text(Measure measure) {
  return word_of(kMeasures, measure);
}
std::string_view to_text(Cause cause) {
  return word_of(kCauses, cause);
}
std::string_view to_text(MeasureOutcome outcome) {
  return word_of(kMeasureOutcomes, outcome);
}
std::string_view name_of(const Fact& fact) {
  return kFacts[fact.index()];
}

std::optional<Priority> parse_priority(std::string_view word) {
  return value_of<Priority>(kPriorities, word);
}
std::optional<Share> parse_share(std::string_view word) {
  return value_of<Share>(kShares, word);
}
std::optional<Leftovers> parse_leftovers(std::string_view word) {
  return value_of<Leftovers>(kLeftovers, word);
}
std::optional<OverBudget> parse_over_budget(std::string_view word) {
  return value_of<OverBudget>(kOverBudget, word);
}
std::optional<Pressure> parse_pressure(std::string_view word) {
  return value_of<Pressure>(kPressures, word);
}
std::optional<LeaseState> parse_lease_state(std::string_view word) {
  return value_of<LeaseState>(kStates, word);
}
std::optional<EndResult> parse_end_result(std::string_view word) {
  return value_of<EndResult>(kResults, word);
}
std::optional<RequeueStep> parse_requeue_step(std::string_view word) {
  return value_of<RequeueStep>(kRequeueSteps, word);
}
std::optional<Remedy::Kind> parse_remedy_kind(std::string_view word) {
  return value_of<Remedy::Kind>(kRemedies, word);
}
std::optional<WhyView::Reason> parse_why_reason(std::string_view word) {
  return value_of<WhyView::Reason>(kReasons, word);
}
std::optional<LoweredLimit::Kind> parse_limit_kind(std::string_view word) {
  return value_of<LoweredLimit::Kind>(kLimitKinds, word);
}
std::optional<Halt::Reason> parse_halt_reason(std::string_view word) {
  return value_of<Halt::Reason>(kHaltReasons, word);
}
std::optional<CheckpointKind> parse_checkpoint_kind(std::string_view word) {
  return value_of<CheckpointKind>(kCheckpointKinds, word);
}
std::optional<CheckpointReason> parse_checkpoint_reason(std::string_view word) {
  return value_of<CheckpointReason>(kCheckpointReasons, word);
}
std::optional<CheckpointOutcome> parse_checkpoint_outcome(std::string_view word) {
  return value_of<CheckpointOutcome>(kCheckpointOutcomes, word);
}
std::optional<Measure> parse_measure(std::string_view word) {
  return value_of<Measure>(kMeasures, word);
}
std::optional<Cause> parse_cause(std::string_view word) {
  return value_of<Cause>(kCauses, word);
}
std::optional<MeasureOutcome> parse_measure_outcome(std::string_view word) {
  return value_of<MeasureOutcome>(kMeasureOutcomes, word);
}
std::optional<RefusalCode> parse_refusal_code(std::string_view word) {
  return value_of<RefusalCode>(kRefusals, word);
}

std::vector<std::string_view> words(const LeaseFlags& flags) {
  std::vector<std::string_view> set;
  if (flags.over_budget) set.push_back("over_budget");
  if (flags.parked) set.push_back("parked");
  if (flags.revoking) set.push_back("revoking");
  if (flags.degraded) set.push_back("degraded");
  if (flags.unclaimed) set.push_back("unclaimed");
  if (flags.astray) set.push_back("astray");
  if (flags.full) set.push_back("full");
  if (flags.checkpointing) set.push_back("checkpointing");
  if (flags.suspending) set.push_back("suspending");
  if (flags.resuming) set.push_back("resuming");
  if (flags.requeuing) set.push_back("requeuing");
  if (flags.frozen) set.push_back("frozen");
  return set;
}

}  // namespace berth
