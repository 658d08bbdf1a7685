// SPDX-License-Identifier: Apache-2.0
#include "core/decider.h"

#include <utility>
#include <variant>

#include "base/check.h"

namespace berth::core {

void Decider::decide(LeaseId id, Fact fact) {
  // Any other may be what another lease waits for. One that has just started has nothing on a
  // device yet, and asked at once to make room it could not.
  look_again(!std::holds_alternative<LeaseClaimed>(fact));
  Record record{state_.last_sequence() + 1, now_.instant, now_.wall, std::move(fact)};
  const Status applied = state_.apply(record);
  CHECK(applied.ok());
  emit(Append{std::move(record)});
  derive(id);
}

void Decider::ask_probe(Instant at) {
  if (probe_at_ && *probe_at_ <= at) return;
  probe_at_ = at;
  emit(AskProbe{at});
}

const UserLimits& Decider::limits_of(UserId user) const {
  const auto found = settings_.limits.find(user);
  return found == settings_.limits.end() ? settings_.limits_default : found->second;
}

const Lease* Decider::lease_of(Token token, Actor actor, Handle handle) {
  const std::optional<LeaseId> id = state_.find(handle);
  if (!id) {
    refuse(token, RefusalCode::kNotFound, "there is no lease " + to_text(handle) + " any more");
    return nullptr;
  }
  return lease_of(token, actor, *id);
}

const Lease* Decider::lease_of(Token token, Actor actor, LeaseId id) {
  const Lease* lease = state_.find(id);
  if (lease == nullptr) {
    const LeaseView* ended = state_.find_ended(id);
    refuse(token, ended != nullptr ? RefusalCode::kWrongState : RefusalCode::kNotFound,
           ended != nullptr ? text_of(id) + " has ended already" : "there is no " + text_of(id));
    return nullptr;
  }
  if (lease->user != actor.user && !actor.admin) {
    refuse(token, RefusalCode::kNotYours,
           text_of(id) + " belongs to another user (uid " + std::to_string(lease->user.value) +
               "): ask them, or an administrator");
    return nullptr;
  }
  return lease;
}

}  // namespace berth::core
