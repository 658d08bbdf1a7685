// SPDX-License-Identifier: Apache-2.0
// The words of facts and flags.
#include <array>

#include "model/lease.h"
#include "model/record.h"

namespace berth {
namespace {

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

}  // namespace

std::string_view name_of(const Fact& fact) {
  return kFacts[fact.index()];
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
