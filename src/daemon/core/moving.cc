// SPDX-License-Identifier: Apache-2.0
// Leases that go on on other devices; see Note [A move is a suspension].
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/transfers.h"

namespace berth::core {

void Transfers::on(const Migrate& event) {
  const Lease* lease = core_->lease_of(event.token, event.actor, event.lease);
  if (lease == nullptr) return;
  const LeaseId id = lease->id;
  if (!accepts(Operation::kMigrate, *lease, event.token)) return;
  if (auto refusal = migration_.refuse(*lease)) {
    return core_->refuse(event.token, *std::move(refusal));
  }
  auto places = migration_.places(*lease, event.body.devices);
  if (auto* refusal = std::get_if<Refusal>(&places)) {
    return core_->refuse(event.token, std::move(*refusal));
  }
  auto& to = std::get<std::vector<DeviceId>>(places);
  if (lease->held()->is_swapped_out()) {
    migrate(id, to, event.actor.user);
    core_->answer(event.token, id);
    return;
  }
  OfLease& known = known_[id];
  known.waiters.push_back(event.token);
  known.migrates_to = std::move(to);
  known.migrates_by = event.actor.user;
  suspend(id, {});
}

void Transfers::migrate(LeaseId id, const std::vector<DeviceId>& to, std::optional<UserId> by) {
  attribution_->migrate(id, core_->state().find(id)->held()->parts, to);
  core_->decide(id, LeaseMoved{id, to, by});
}

// It has left for that.
void Transfers::migrate_when_out(LeaseId id) {
  const Lease& lease = *core_->state().find(id);
  const std::vector<DeviceId> to = std::exchange(known_[id].migrates_to, {});
  if (to.empty() || lease.held()->revoked) return;
  if (const std::optional<std::string> why_not = migration_.too_large_for(lease, to)) {
    core_->say(text_of(id) + " cannot go on on another GPU: " + *why_not);
    answer(id, &OfLease::waiters, *why_not);
  } else {
    migrate(id, to, std::exchange(known_[id].migrates_by, {}));
  }
  if (!lease.held()->pause) core_->decide(id, ResumeQueued{id});
}

// It waits for room there: what it had may be another's by now.
void Transfers::undo_migration(LeaseId id, const std::string& why) {
  const std::vector<DeviceId> from = core_->state().find(id)->held()->its_suspension().moved_from;
  if (from.empty()) return;
  core_->say(text_of(id) + " cannot go on on another GPU: " + why + "; it returns where it was");
  migrate(id, from, std::nullopt);
  core_->decide(id, ResumeQueued{id});
}

}  // namespace berth::core
