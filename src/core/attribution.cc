// SPDX-License-Identifier: Apache-2.0
#include "core/attribution.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/limits.h"

namespace berth::core {
namespace {

bool is_on(const Held& held, DeviceId device) {
  return std::ranges::find(held.parts, device, &Part::device) != held.parts.end();
}

}  // namespace

std::set<LeaseId> Attribution::take(const Sample& sample) {
  std::set<LeaseId> touched = std::exchange(measured_, {});
  for (const LeaseId id : touched) {
    for (auto& [device, use] : known_[id].uses) {
      use.now.reset();
      use.figure_missing = false;
    }
  }
  for (const DeviceSample& device : sample.devices) attribute(device, sample.asked_at, touched);
  believe_shrunk(sample, touched);
  believe_swapped_out(sample, touched);
  compare(sample);
  std::erase_if(touched, [&](LeaseId id) { return core_->state().find(id) == nullptr; });
  for (const LeaseId id : touched) {
    for (auto& [device, use] : known_[id].uses) {
      if (!use.figure_missing) use.last = use.now.value_or(Bytes{});
    }
    core_->derive(id);
    announce_budget(id);
  }
  return touched;
}

void Attribution::attribute(const DeviceSample& device, Instant asked_at,
                            std::set<LeaseId>& touched) {
  if (device.lost || device.asleep) return;
  std::vector<UnmanagedProcess>& others = unmanaged_[device.id];
  others.clear();
  Sums sums;
  static const std::vector<ProcessSample> kNone;
  for (const ProcessSample& process : device.processes ? *device.processes : kNone) {
    const std::optional<LeaseId> id = lease_of(process, device.id);
    const Lease* lease = id ? core_->state().find(*id) : nullptr;
    const Held* granted = lease == nullptr ? nullptr : lease->granted();
    // A lease that was found free is charged nothing; what turns up of it all the same is
    // unmanaged.
    const bool counts = granted != nullptr && !is_free(lease->id);
    if (counts && is_on(*granted, device.id)) {
      attribute(device, process, *lease, sums);
      touched.insert(lease->id);
      note_member(process, *lease, asked_at);
      continue;
    }
    others.push_back({.process = process.process,
                      .user = process.user,
                      .name = process.name,
                      .used = process.used,
                      .lease = counts ? id : std::nullopt});
    sums.theirs += process.used.value_or(Bytes{});
    // What a lease has left behind is named by its environment, and was never to be ignored.
    const bool is_outside = process.alive && !id && !process.env_lease;
    if (is_outside) sums.outside += process.used.value_or(Bytes{});
  }
  if (!device.processes) {
    const KnownDevice* known = devices_->find(device.id);
    const bool is_gap = known != nullptr && known->ever_listed;
    for (const auto& [id, entry] : ledger_->account(device.id).entries) {
      sums.assumed += entry.charge;
      if (!is_gap) continue;
      known_[id].uses[device.id].figure_missing = true;
      measured_.insert(id);
      touched.insert(id);
    }
  }
  account_unmanaged(device, sums);
  core_->changed();
}

void Attribution::attribute(const DeviceSample& device, const ProcessSample& process,
                            const Lease& lease, Sums& sums) {
  Use& use = known_[lease.id].uses[device.id];
  if (process.used) {
    sums.ours += *process.used;
    use.now = use.now.value_or(Bytes{}) + *process.used;
    use.peak = std::max(use.peak, *use.now);
  } else {
    // It may use all of the budget, for all that is known.
    use.figure_missing = true;
    for (const Part& part : lease.granted()->parts) {
      if (part.device == device.id) sums.assumed += part.budget;
    }
  }
  measured_.insert(lease.id);
}

// A process that was seen in time is a member; one that died since is not worth a record.
void Attribution::note_member(const ProcessSample& process, const Lease& lease, Instant asked_at) {
  const Held* held = lease.held();
  const bool is_news = held != nullptr && held->claimed && process.alive &&
                       held->command != process.process &&
                       !held->members.contains(process.process) && asked_at >= held->granted_at;
  if (is_news && held->members.size() < limits::kMembersPerLease) {
    core_->decide(lease.id, MemberSeen{lease.id, process.process});
  }
}

// Who belongs to a lease: see docs/scheduling.md, «Who belongs to a lease». Nearest parent first,
// so that a lease inside another counts for itself.
std::optional<LeaseId> Attribution::lease_of(const ProcessSample& process, DeviceId device) const {
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
std::optional<LeaseId> Attribution::belongs_to(Process process, bool certain) const {
  auto i = belongings_.lower_bound({process, certain, LeaseId{~std::uint64_t{0}}});
  if (i == belongings_.begin()) return std::nullopt;
  --i;
  const bool same = i->process == process && i->certain == certain;
  return same ? std::optional(i->lease) : std::nullopt;
}

// Of the dead the driver knows the pid alone: a lease on this device that had it must do, also one
// that is away and for which the ledger has nothing here yet: the dead are not moved. Pids come
// again, so it is whose process of that pid began last.
std::optional<LeaseId> Attribution::lease_that_had(std::int32_t pid, DeviceId device) const {
  std::optional<std::pair<std::uint64_t, LeaseId>> last;
  for (const auto& [id, lease] : core_->state().leases()) {
    const Held* held = lease.granted();
    if (held == nullptr || !is_on(*held, device)) continue;
    const auto look_at = [&](const Process& process) {
      if (process.pid == pid)
        last = std::max(last, std::optional(std::pair(process.start_ticks, id)));
    };
    if (held->command) look_at(*held->command);
    std::ranges::for_each(held->members, look_at);
    std::ranges::for_each(held->departed, look_at);
    std::ranges::for_each(known_.at(id).leftovers, look_at);
  }
  return last ? std::optional(last->second) : std::nullopt;
}

// Where a figure is missing, unmanaged processes use something between two bounds; what was known
// of them last is believed as far as these allow.
Bytes Attribution::used_by_unmanaged(const DeviceSample& device, const Sums& sums, Bytes before) {
  if (!device.used) return sums.theirs;
  const Bytes most = saturating_sub(*device.used, sums.ours);
  const Bytes least = std::min(most, std::max(saturating_sub(most, sums.assumed), sums.theirs));
  return std::clamp(before, least, most);
}

// Note [Ignored unmanaged processes]: with `unmanaged = "ignore"` the sum is made as if those who
// live and never had a lease were not there. All else that is unmanaged goes on counting: what
// leases have left behind, what nobody is listed for, and strays.
void Attribution::account_unmanaged(const DeviceSample& device, const Sums& sums) {
  Account& account = ledger_->account(device.id);
  // Where nobody was ever listed nothing was known of them.
  const KnownDevice* known = devices_->find(device.id);
  const Bytes before = known != nullptr && known->ever_listed ? account.unmanaged : Bytes{};
  const Bytes unmanaged = used_by_unmanaged(device, sums, before);
  Bytes ignored;
  if (core_->settings().unmanaged == Unmanaged::kIgnore) {
    Sums heeded = sums;
    heeded.ours += sums.outside;
    heeded.theirs = saturating_sub(sums.theirs, sums.outside);
    ignored = saturating_sub(unmanaged, used_by_unmanaged(device, heeded, account.heeded()));
  }
  core_->look_again(unmanaged != account.unmanaged || ignored != account.ignored);
  account.unmanaged = unmanaged;
  account.ignored = ignored;
}

void Attribution::count_left_behind(const Sample& sample) {
  for (const DeviceSample& device : sample.devices) {
    const KnownDevice* known = devices_->find(device.id);
    const bool is_it = known != nullptr && !known->ever_listed && !device.lost && !device.asleep &&
                       device.used.has_value();
    if (!is_it) continue;
    Account& account = ledger_->account(device.id);
    Bytes charged;
    for (const auto& [id, entry] : account.entries) charged += entry.charge;
    account.unmanaged = std::max(account.unmanaged, saturating_sub(*device.used, charged));
  }
}

// A lease whose budget fell is charged its use from now on, unless the sample does not tell it.
void Attribution::believe_shrunk(const Sample& sample, std::set<LeaseId>& touched) {
  for (const LeaseId id : std::set(shrunk_)) {
    OfLease& known = known_[id];
    CHECK(known.shrunk_at.has_value());
    if (sample.asked_at < *known.shrunk_at) continue;
    const Held* held = core_->state().find(id)->held();
    if (held != nullptr && held->suspension) {
      // What it has is not what it may have again; but what it left where it was is known now.
      known.shrink_confirmed = true;
      touched.insert(id);
      continue;
    }
    const bool all_known = std::ranges::all_of(known.uses, [&](const auto& entry) {
      // Where a figure never came none is waited for.
      const bool missed = entry.second.figure_missing && entry.second.peak > Bytes{};
      return entry.second.upper_bound == Bytes{} ||
             (!missed && devices_->tells_who_is_left(entry.first));
    });
    if (!all_known) continue;
    for (auto& [device, use] : known.uses) use.upper_bound = {};
    known.shrunk_at.reset();
    shrunk_.erase(id);
    touched.insert(id);
  }
}

// A suspended lease is charged what is still there from now on.
void Attribution::believe_swapped_out(const Sample& sample, std::set<LeaseId>& touched) {
  for (const LeaseId id : std::set(swapped_out_)) {
    if (sample.asked_at < known_.at(id).swapped_out_at) continue;
    swapped_out_.erase(id);
    touched.insert(id);
  }
}

void Attribution::announce_budget(LeaseId id) {
  const Lease* lease = core_->state().find(id);
  if (lease == nullptr || lease->held() == nullptr) return;
  const bool over = std::ranges::any_of(lease->held()->parts, [&](const Part& part) {
    const Use* measured = use(id, part.device);
    return measured != nullptr && measured->now.value_or(Bytes{}) > part.budget;
  });
  if (over == is_over_budget(id)) return;
  known_[id].over_budget = over;
  core_->notify(id, over ? LeaseEvent::kOverBudget : LeaseEvent::kInBudget);
}

}  // namespace berth::core
