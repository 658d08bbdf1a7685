// SPDX-License-Identifier: Apache-2.0
#include "core/dependencies.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "core/limits.h"

namespace berth::core {
namespace {

constexpr std::int64_t kLatestMs = std::int64_t{366} * 24 * 60 * 60 * 1000;

bool is_told(const Lease& lease) {
  return !lease.request.after.empty() || lease.request.not_before;
}

// Those who cancel what has yet to run want nothing after it either.
std::string why_never_after(const LeaseView& ended, Ends ends) {
  const bool ran = ended.started_at || (ended.set && ended.set->ended == ended.request.members);
  if (!ran) return " ended before it ran";
  const bool well = ended.result == EndResult::kOk;
  if (ends == Ends::kOk && !well) {
    return " ended otherwise than well (" +
           std::string(ended.result ? to_text(*ended.result) : "unknown") + ")";
  }
  return ends == Ends::kFailed && well ? " ended well" : "";
}

}  // namespace

const Lease* Dependencies::set_of(const Lease& lease) const {
  if (!lease.request.member) return nullptr;
  const Lease* set = core_->state().find(lease.request.member->set);
  return set != nullptr && set->waiting() != nullptr ? set : nullptr;
}

bool Dependencies::waits_for_others(const Lease& lease) const {
  return std::ranges::any_of(lease.request.after, [&](const Predecessor& predecessor) {
    return core_->state().find(predecessor.lease) != nullptr;
  });
}

std::vector<LeaseId> Dependencies::retried(const Lease& lease) const {
  std::vector<LeaseId> retried;
  for (const Predecessor& predecessor : lease.request.after) {
    const Lease* other = core_->state().find(predecessor.lease);
    if (other != nullptr && other->retries.failed) retried.push_back(other->id);
  }
  return retried;
}

std::optional<Duration> Dependencies::until_start(const Lease& lease) const {
  if (!lease.request.not_before) return std::nullopt;
  const std::int64_t ms = lease.request.not_before->value - core_->now().wall.value;
  return ms > 0 ? std::optional(milliseconds(ms)) : std::nullopt;
}

std::string Dependencies::why_never(const Predecessor& predecessor) const {
  const LeaseView* ended = core_->state().find_ended(predecessor.lease);
  if (ended == nullptr) return {};
  const std::string why = why_never_after(*ended, predecessor.ends);
  return why.empty() ? why : text_of(predecessor.lease) + why;
}

std::optional<Refusal> Dependencies::refuse_member(const SetMember& member, UserId user) const {
  const Lease* set = core_->state().find(member.set);
  if (set == nullptr || !set->set || set->user != user) {
    return Refusal{RefusalCode::kNotFound, text_of(member.set) + " is no set of yours that waits"};
  }
  if (member.number > set->request.members || set->set->begun == set->request.members) {
    return Refusal{RefusalCode::kWrongState,
                   "set " + to_text(member.set) + " has " + std::to_string(set->request.members) +
                       " members, and " + std::to_string(set->set->begun) +
                       " of them were asked for"};
  }
  return std::nullopt;
}

std::optional<Refusal> Dependencies::refuse(const Request& request, UserId user) const {
  if (request.member) {
    if (auto refusal = refuse_member(*request.member, user)) return refusal;
  }
  const bool makes_no_set = request.ttl || request.member || request.wait_max;
  if (request.members > 0 && makes_no_set) {
    return Refusal{RefusalCode::kInvalid,
                   "a set of jobs is no reservation and no member of another, and waits without "
                   "bound"};
  }
  if (auto refusal = refuse_start(request)) return refusal;
  for (const Predecessor& predecessor : request.after) {
    const LeaseId id = predecessor.lease;
    if (id.value >= core_->state().next_id()) {
      return Refusal{RefusalCode::kNotFound,
                     "there is no " + text_of(id) + " that it could start after"};
    }
    if (core_->state().find(id) != nullptr) continue;
    if (core_->state().find_ended(id) == nullptr) {
      return Refusal{RefusalCode::kWrongState,
                     "how " + text_of(id) + " ended is not known any more: it is long ago"};
    }
    if (const std::string why = why_never(predecessor); !why.empty()) {
      return Refusal{RefusalCode::kWrongState, why + ", so it would never start"};
    }
  }
  return std::nullopt;
}

std::optional<Refusal> Dependencies::refuse_start(const Request& request) const {
  const bool now_or_never = request.wait_max && request.wait_max->ns == 0;
  if (now_or_never && (!request.after.empty() || request.not_before)) {
    return Refusal{RefusalCode::kInvalid,
                   "it is to start now or never, and after something else: leave one out"};
  }
  if (request.not_before && request.not_before->value - core_->now().wall.value > kLatestMs) {
    return Refusal{RefusalCode::kInvalid, "it is to start in more than a year"};
  }
  return std::nullopt;
}

void Dependencies::leave_queue(LeaseId id) {
  if (known_.contains(id)) forget(id);
}

void Dependencies::update(LeaseId id, const Lease* lease) {
  const LeaseView* ended = lease == nullptr ? core_->state().find_ended(id) : nullptr;
  if (ended != nullptr && ended->request.member) touched_.insert(ended->request.member->set);
  const bool waits = lease != nullptr && lease->waiting() != nullptr;
  if (waits && is_told(*lease) && !known_.contains(id)) note(id, *lease);
  if (!waits && known_.contains(id)) forget(id);
  if (lease == nullptr && dependants_.contains(id)) {
    ended_.push_back(id);
    core_->look_again();
  }
}

void Dependencies::note(LeaseId id, const Lease& lease) {
  std::vector<LeaseId>& predecessors = known_[id];
  for (const Predecessor& predecessor : lease.request.after) {
    predecessors.push_back(predecessor.lease);
    dependants_[predecessor.lease].insert(id);
    // It ended before a restart, and the end of its dependants may not have been written.
    if (core_->state().find(predecessor.lease) == nullptr) ended_.push_back(predecessor.lease);
  }
  note_start(id, lease);
}

// The clock on the wall may be set meanwhile, also ahead.
void Dependencies::note_start(LeaseId id, const Lease& lease) {
  starts_.erase(id);
  const std::optional<Duration> left = until_start(lease);
  if (left) starts_[id] = core_->now().instant + std::min(*left, limits::kStartCheckPeriod);
}

void Dependencies::forget(LeaseId id) {
  starts_.erase(id);
  const auto found = known_.find(id);
  for (const LeaseId predecessor : found->second) {
    const auto waiting = dependants_.find(predecessor);
    if (waiting == dependants_.end()) continue;
    waiting->second.erase(id);
    if (waiting->second.empty()) dependants_.erase(waiting);
  }
  known_.erase(found);
}

Instant Dependencies::due(LeaseId id) const {
  const auto found = starts_.find(id);
  return found == starts_.end() ? Instant::never() : found->second;
}

bool Dependencies::tend(LeaseId id) {
  if (due(id) > core_->now().instant) return false;
  note_start(id, *core_->state().find(id));
  core_->derive_deadline(id);
  if (starts_.contains(id)) return true;
  core_->changed();
  core_->look_again();
  return true;
}

std::vector<LeaseId> Dependencies::take_over_sets() {
  std::set<LeaseId> touched = std::exchange(touched_, {});
  std::vector<LeaseId> over;
  std::ranges::copy_if(touched, std::back_inserter(over), [&](LeaseId id) {
    const Lease* set = core_->state().find(id);
    if (set == nullptr || !set->set) return false;
    CHECK(set->set->ended <= set->set->begun && set->set->begun <= set->request.members);
    return set->set->ended == set->request.members;
  });
  return over;
}

std::vector<Dependencies::Broken> Dependencies::take_broken() {
  std::vector<Broken> broken;
  for (const LeaseId ended : std::exchange(ended_, {})) {
    const auto found = dependants_.find(ended);
    if (found == dependants_.end()) continue;
    for (const LeaseId id : std::exchange(found->second, {})) {
      for (const Predecessor& predecessor : core_->state().find(id)->request.after) {
        if (predecessor.lease != ended) continue;
        if (std::string why = why_never(predecessor); !why.empty()) {
          broken.push_back({id, std::move(why)});
          break;
        }
      }
    }
    dependants_.erase(found);
  }
  return broken;
}

}  // namespace berth::core
