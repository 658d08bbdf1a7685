// SPDX-License-Identifier: Apache-2.0
#include "core/membership.h"

#include <algorithm>
#include <utility>

#include "core/limits.h"

namespace berth::core {

void Membership::update(LeaseId id, const Lease* lease) {
  std::vector<Belonging> belonging;
  const auto count = [&](const Process& process, bool certain) {
    belonging.push_back({.process = process, .certain = certain, .lease = id});
  };
  if (const Held* held = lease == nullptr ? nullptr : lease->granted()) {
    if (held->command) count(*held->command, true);
    // A reservation hangs on a shell, with which it has nothing else to do.
    if (lease->supervisor && !lease->request.ttl) count(*lease->supervisor, true);
    for (const Process& member : held->members) count(member, true);
    for (const Process& left : known_.at(id).leftovers) count(left, false);
  }
  if (belonging == known_.at(id).belonging) return;
  OfLease& known = known_[id];
  for (const Belonging& old : known.belonging) belongings_.erase(old);
  belongings_.insert(belonging.begin(), belonging.end());
  known.belonging = std::move(belonging);
}

// A process that was seen in time is a member; one that died since is not worth a record.
void Membership::note(const ProcessSample& process, const Lease& lease, Instant asked_at) {
  const Held* held = lease.held();
  const bool is_news = held != nullptr && held->claimed && process.alive &&
                       held->command != process.process &&
                       !held->members.contains(process.process) && asked_at >= held->granted.at;
  if (is_news && held->members.size() < limits::kMembersPerLease) {
    core_->decide(lease.id, MemberSeen{lease.id, process.process});
  }
}

// Who belongs to a lease: see docs/scheduling.md, «Who belongs to a lease». Nearest parent first,
// so that a lease inside another counts for itself.
std::optional<LeaseId> Membership::lease_of(const ProcessSample& process, DeviceId device) const {
  const auto by_descent = [&](bool certain) -> std::optional<LeaseId> {
    if (auto id = belongs_to(process.process, certain)) return id;
    for (const Process& ancestor : process.ancestors) {
      if (auto id = belongs_to(ancestor, certain)) return id;
    }
    return std::nullopt;
  };
  if (!process.alive) return lease_that_had(process.process.pid, device);
  // Of two the younger is the inner one: an orphan of it has come below the outer's supervisor.
  std::optional<LeaseId> id = by_descent(true);
  if (process.env_lease) {
    const std::optional<LeaseId> named = core_->state().find(*process.env_lease);
    if (named && core_->state().find(*named)->user == process.user) {
      id = std::max(id.value_or(LeaseId{}), *named);
    }
  }
  return id ? id : by_descent(false);
}

// The youngest lease that names it.
std::optional<LeaseId> Membership::belongs_to(Process process, bool certain) const {
  auto i = belongings_.lower_bound({process, certain, LeaseId{~std::uint64_t{0}}});
  if (i == belongings_.begin()) return std::nullopt;
  --i;
  const bool same = i->process == process && i->certain == certain;
  return same ? std::optional(i->lease) : std::nullopt;
}

// Of the dead the driver knows the pid alone: a lease on this device that had it must do, also one
// that is away and for which the ledger has nothing here yet: the dead are not moved. Pids come
// again, so it is whose process of that pid began last.
std::optional<LeaseId> Membership::lease_that_had(std::int32_t pid, DeviceId device) const {
  std::uint64_t began = 0;
  std::optional<LeaseId> last;
  for (const auto& entry : core_->state().leases()) {
    const LeaseId id = entry.first;
    const Held* held = entry.second.granted();
    if (held == nullptr || !held->is_on(device)) continue;
    const auto look_at = [&](const Process& process) {
      if (process.pid != pid || process.start_ticks < began) return;
      began = process.start_ticks;
      last = id;
    };
    if (held->command) look_at(*held->command);
    std::ranges::for_each(held->members, look_at);
    std::ranges::for_each(held->departed, look_at);
    std::ranges::for_each(known_.at(id).leftovers, look_at);
  }
  return last;
}

}  // namespace berth::core
