// SPDX-License-Identifier: Apache-2.0
// Changes by a sample of the devices: capacities, who uses how much, which process belongs to which
// lease, and which ended lease is free at last.
#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "core/impl.h"
#include "core/limits.h"

namespace berth::core {

void Coordinator::Impl::on(const Sampled& event) {
  const Sample& sample = event.sample;
  sample_seen = true;
  simulated = sample.simulated;
  trouble = sample.trouble;
  if (!sample.driver_version.empty()) driver_version = sample.driver_version;
  if (probe_at && sample.asked_at >= *probe_at) probe_at.reset();
  // A driver in trouble tells nothing: what was known last stays, and grows old.
  if (sample.trouble.empty()) {
    contexts.clear();
    for (const ContextSample& known : sample.contexts) {
      contexts[{known.user, known.device}] = known.cost;
    }
    update_accounts(sample);
    std::set<LeaseId> touched = std::exchange(measured, {});
    for (const LeaseId id : touched) {
      for (auto& [device, use] : observed.at(id).use) {
        use.now.reset();
        use.figure_missing = false;
      }
    }
    for (const DeviceSample& device : sample.devices) {
      attribute(device, sample.asked_at, touched);
    }
    believe_shrunk(sample, touched);
    believe_swapped_out(sample, touched);
    compare(sample);
    for (const LeaseId id : touched) {
      if (state.find(id) == nullptr) continue;
      for (auto& [device, use] : observed.at(id).use) {
        if (!use.figure_missing) use.last = use.now.value_or(Bytes{});
      }
      reindex(id);
      announce_budget(id);
      weigh(id, sample.asked_at);
    }
    look_for_strays();
    look_for_unmanaged(sample);
    update_pressure(sample);
    escalate_all(sample);
    settle_with(sample);
    count_left_behind(sample);
    swap_in_where_confirmed(sample);
    if (!unchecked.empty()) refuse_what_never_fits(sample);
  }
  if (!settling.empty() || !shrunk.empty() || !just_swapped_out.empty() || !resuming.empty()) {
    ask_probe_again(sample.asked_at);
  }
}

// Of the devices of which the sample tells what is used.
std::vector<const Account*> Coordinator::Impl::sampled_accounts(const Sample& sample) const {
  std::vector<const Account*> accounts;
  for (const DeviceSample& device : sample.devices) {
    const Account* account = ledger.find(device.id);
    if (account != nullptr && !device.lost && !device.asleep) accounts.push_back(account);
  }
  return accounts;
}

// Each once.
std::vector<LeaseId> Coordinator::Impl::leases_on(const std::vector<const Account*>& accounts) {
  std::vector<LeaseId> leases;
  for (const Account* account : accounts) {
    for (const auto& [id, entry] : account->entries) leases.push_back(id);
  }
  std::ranges::sort(leases);
  leases.erase(std::ranges::unique(leases).begin(), leases.end());
  return leases;
}

// A lease whose budget fell is charged its use from now on, unless the sample does not tell it.
void Coordinator::Impl::believe_shrunk(const Sample& sample, std::set<LeaseId>& touched) {
  for (const LeaseId id : std::set(shrunk)) {
    Observed& seen = observed.at(id);
    CHECK(seen.shrunk_at.has_value());
    if (sample.asked_at < *seen.shrunk_at) continue;
    const Held* held = state.find(id)->held();
    if (held != nullptr && held->suspension) {
      // What it has is not what it may have again; but what it left where it was is known now.
      seen.shrink_confirmed = true;
      touched.insert(id);
      continue;
    }
    const bool all_known = std::ranges::all_of(seen.use, [&](const auto& entry) {
      // Where a figure never came none is waited for.
      const bool missed = entry.second.figure_missing && entry.second.peak > Bytes{};
      return entry.second.upper_bound == Bytes{} || (!missed && tells_who_is_left(entry.first));
    });
    if (!all_known) continue;
    for (auto& [device, use] : seen.use) use.upper_bound = {};
    seen.shrunk_at.reset();
    shrunk.erase(id);
    touched.insert(id);
  }
}

// A suspended lease is charged what is still there from now on.
void Coordinator::Impl::believe_swapped_out(const Sample& sample, std::set<LeaseId>& touched) {
  for (const LeaseId id : std::set(just_swapped_out)) {
    if (sample.asked_at < observed.at(id).suspended_at) continue;
    just_swapped_out.erase(id);
    touched.insert(id);
  }
}

// What was asked for when no device was known is looked at once all of them are. One that is away
// or asleep may turn out to be what was meant.
void Coordinator::Impl::refuse_what_never_fits(const Sample& sample) {
  const bool all_known = std::ranges::all_of(sample.devices, [&](const DeviceSample& device) {
    const Account* account = ledger.find(device.id);
    return account != nullptr && account->seen && account->capacity > Bytes{};
  });
  if (!all_known) return;
  for (const LeaseId id : std::exchange(unchecked, {})) {
    const Lease& lease = *state.find(id);
    if (lease.waiting() == nullptr) continue;
    if (std::optional<Refusal> refusal = refuse_devices(lease.request, lease.user)) {
      end_waiting(id, EndResult::kRefused, {*std::move(refusal)});
    }
  }
}

void Coordinator::Impl::update_accounts(const Sample& sample) {
  std::vector<DeviceId> came_or_went;
  const auto note = [&](const Account& account, bool was_seen) {
    if (account.seen != was_seen) came_or_went.push_back(account.id);
  };
  for (const auto& [device, last] : seen_devices) {
    const bool checked = std::ranges::any_of(
        sample.devices, [&](const DeviceSample& other) { return other.id == device; });
    if (checked) continue;
    Account& account = ledger.account(device);
    note(account, std::exchange(account.seen, false));
  }
  for (const DeviceSample& device : sample.devices) {
    const Account* account = ledger.find(device.id);
    const bool was_seen = account != nullptr && account->seen;
    update_account(device, sample);
    if (const Account* updated = ledger.find(device.id)) note(*updated, was_seen);
  }
  ledger.sort();
  for (const DeviceId device : came_or_went) {
    for (const auto& [id, entry] : ledger.find(device)->entries) announce_lost(id);
  }
  dirty = true;
}

void Coordinator::Impl::announce_lost(LeaseId id) {
  bool degraded = false;
  for (const Part& part : state.find(id)->granted()->parts) {
    const Account* account = ledger.find(part.device);
    degraded |= account == nullptr || (!account->seen && seen_devices.contains(account->id));
  }
  Observed& seen = observed.at(id);
  if (degraded && !seen.degraded) notify(id, LeaseEvent::kDegraded);
  seen.degraded = degraded;
}

void Coordinator::Impl::update_account(const DeviceSample& device, const Sample& sample) {
  if (seen_devices.size() >= limits::kDevicesMax && !seen_devices.contains(device.id)) return;
  Account& account = ledger.account(device.id);
  KnownDevice& last = seen_devices[device.id];
  account.seen = !device.lost;
  last.trouble = device.trouble;
  if (device.lost) return;
  account.index = device.index;
  account.model = device.model;
  if (!device.asleep || device.capacity > Bytes{}) account.capacity = device.capacity;
  account.driver = device.driver_reserved.value_or(Bytes{});
  const auto own = settings.device_reserve.find(device.id);
  account.reserve = own == settings.device_reserve.end() ? settings.reserve : own->second;
  last.pci_bus = device.pci_bus;
  last.asleep = device.asleep;
  last.used = device.used;
  last.driver_reserved = device.driver_reserved;
  last.lists_processes = device.processes.has_value();
  last.ever_listed |= last.lists_processes;
  last.asked_at = sample.asked_at;
  last.sampled_at = sample.answered_at;
}

// The youngest lease that names it.
std::optional<LeaseId> Coordinator::Impl::belongs_to(Process process, bool certain) const {
  auto i = belongings.lower_bound({process, certain, LeaseId{~std::uint64_t{0}}});
  if (i == belongings.begin()) return std::nullopt;
  --i;
  const bool same = i->process == process && i->certain == certain;
  return same ? std::optional(i->lease) : std::nullopt;
}

// Of the dead the driver knows the pid alone: a lease on this device that had it must do, also one
// that is away and for which the ledger has nothing here yet: the dead are not moved. Pids come
// again, so it is whose process of that pid began last.
std::optional<LeaseId> Coordinator::Impl::lease_that_had(std::int32_t pid, DeviceId device) const {
  std::optional<std::pair<std::uint64_t, LeaseId>> last;
  for (const auto& [id, lease] : state.leases()) {
    const Held* held = lease.granted();
    const bool is_here = held != nullptr && std::ranges::any_of(held->parts, [&](const Part& part) {
                           return part.device == device;
                         });
    if (!is_here) continue;
    const auto look_at = [&](const Process& process) {
      if (process.pid == pid)
        last = std::max(last, std::optional(std::pair(process.start_ticks, id)));
    };
    if (held->command) look_at(*held->command);
    std::ranges::for_each(held->members, look_at);
    std::ranges::for_each(held->departed, look_at);
    std::ranges::for_each(observed.at(id).leftovers, look_at);
  }
  return last ? std::optional(last->second) : std::nullopt;
}

// Who belongs to a lease: see docs/scheduling.md, «Who belongs to a lease». Nearest parent first,
// so that a lease inside another counts for itself.
std::optional<LeaseId> Coordinator::Impl::lease_of_process(const ProcessSample& process,
                                                           DeviceId device) const {
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
    const auto named = by_handle.find(*process.env_lease);
    if (named != by_handle.end() && state.find(named->second)->user == process.user) {
      id = std::max(id.value_or(LeaseId{}), named->second);
    }
  }
  return id ? id : by_descent(false);
}

void Coordinator::Impl::attribute(const DeviceSample& device, Instant asked_at,
                                  std::set<LeaseId>& touched) {
  if (device.lost || device.asleep) return;
  std::vector<UnmanagedProcess>& others = seen_devices[device.id].unmanaged_processes;
  others.clear();
  Attributed sums;
  static const std::vector<ProcessSample> kNone;
  for (const ProcessSample& process : device.processes ? *device.processes : kNone) {
    const std::optional<LeaseId> id = lease_of_process(process, device.id);
    const Lease* lease = id ? state.find(*id) : nullptr;
    // A lease that was found free is charged nothing; what turns up of it all the same is
    // unmanaged.
    const bool on_its_device =
        lease != nullptr && lease->granted() != nullptr && !observed.at(*id).freed &&
        std::ranges::any_of(lease->granted()->parts,
                            [&](const Part& part) { return part.device == device.id; });
    if (!on_its_device) {
      const bool astray =
          lease != nullptr && lease->granted() != nullptr && !observed.at(*id).freed;
      others.push_back({.process = process.process,
                        .user = process.user,
                        .name = process.name,
                        .used = process.used,
                        .lease = astray ? id : std::nullopt});
      sums.theirs += process.used.value_or(Bytes{});
      // What a lease has left behind is named by its environment, and was never to be ignored.
      const bool is_outside = process.alive && !id && !process.env_lease;
      if (is_outside) sums.outside += process.used.value_or(Bytes{});
      continue;
    }
    Observed& seen = observed.at(*id);
    Use& use = seen.use[device.id];
    if (process.used) {
      sums.ours += *process.used;
      use.now = use.now.value_or(Bytes{}) + *process.used;
      use.peak = std::max(use.peak, *use.now);
    } else {
      // It may use all of the budget, for all that is known.
      use.figure_missing = true;
      for (const Part& part : lease->granted()->parts) {
        if (part.device == device.id) sums.assumed += part.budget;
      }
    }
    measured.insert(*id);
    touched.insert(*id);
    const Held* held = lease->held();
    const bool is_command = held != nullptr && held->command == process.process;
    // A process that was seen in time is a member; one that died since is not worth a record.
    if (held != nullptr && held->claimed && process.alive && !is_command &&
        !held->members.contains(process.process) && asked_at >= held->granted_at &&
        held->members.size() < limits::kMembersPerLease) {
      decide(*id, MemberSeen{*id, process.process});
    }
  }
  Account& account = ledger.account(device.id);
  if (!device.processes) {
    for (const auto& [id, entry] : account.entries) {
      sums.assumed += entry.charge;
      if (!seen_devices[device.id].ever_listed) continue;
      observed.at(id).use[device.id].figure_missing = true;
      measured.insert(id);
      touched.insert(id);
    }
  }
  account_unmanaged(device, sums);
  ++version;
}

void Coordinator::Impl::announce_budget(LeaseId id) {
  const Lease* lease = state.find(id);
  if (lease == nullptr || lease->held() == nullptr) return;
  Observed& seen = observed.at(id);
  bool over = false;
  for (const Part& part : lease->held()->parts) {
    const auto use = seen.use.find(part.device);
    over |= use != seen.use.end() && use->second.now.value_or(Bytes{}) > part.budget;
  }
  if (over == seen.over_budget) return;
  seen.over_budget = over;
  notify(id, over ? LeaseEvent::kOverBudget : LeaseEvent::kInBudget);
}

void Coordinator::Impl::settle_with(const Sample& sample) {
  std::vector<LeaseId> due;
  for (const LeaseId id : settling) {
    const Observed& seen = observed.at(id);
    if (seen.settle_since && sample.asked_at < *seen.settle_since) continue;
    due.push_back(id);
  }
  for (const LeaseId id : due) settle_one(id);
}

// A driver that has listed processes before and now does not says nothing about who is left; one
// that never does leaves nothing to go by but the end itself. A lost device cannot be asked.
bool Coordinator::Impl::tells_who_is_left(DeviceId device) const {
  const Account* account = ledger.find(device);
  if (account == nullptr || !account->seen) return false;
  const auto seen = seen_devices.find(device);
  return seen == seen_devices.end() || seen->second.lists_processes || !seen->second.ever_listed;
}

// What has ended is off a device that sleeps: to clear it away, the driver would have woken it.
bool Coordinator::Impl::sleeps(DeviceId device) const {
  const auto seen = seen_devices.find(device);
  return seen != seen_devices.end() && seen->second.asleep;
}

// What is on the way to a device is listed when it is there; until then nobody can tell.
bool Coordinator::Impl::may_be_brought_back(const Lease& lease) const {
  if (lease.releasing() == nullptr) return false;
  const Observed& seen = observed.at(lease.id);
  return lease.releasing()->was.has_processes() && seen.move != 0 && !is_freezing(seen);
}

// A sample asked after the end tells who is left.
void Coordinator::Impl::settle_one(LeaseId id) {
  const Lease& lease = *state.find(id);
  for (const Part& part : lease.granted()->parts) {
    // Where nothing is told, the deadline of `releasing` ends the wait.
    if (!tells_who_is_left(part.device) && !sleeps(part.device)) return;
  }
  Observed& seen = observed.at(id);
  if (may_be_brought_back(lease)) return;
  seen.settle_since.reset();
  if (const Held* held = lease.held()) {
    if (!held->members.empty()) {
      settling.erase(id);  // They hold it; their ends are watched.
      answer_exit(id);
      const bool may_stay = held->revoked || held->is_being_stopped();
      if (!may_stay && lease.request.leftovers == Leftovers::kKill) {
        revoke(id, result_of(*held));
      }
      reindex(id);
      return;
    }
    end_growth(id);
    thaw(id);
    decide(id, LeaseReleasing{id, result_of(*held)});
  }
  if (measured.contains(id)) {
    reindex(id);
    return;
  }
  seen.freed = true;
  settling.erase(id);
  reindex(id);
  finish_if_free(id);
}

void Coordinator::Impl::ask_probe_again(Instant asked_at) {
  Instant at = Instant::never();
  for (const LeaseId id : settling) {
    const Lease& lease = *state.find(id);
    const std::optional<Instant> settle_since = observed.at(id).settle_since;
    if (settle_since && asked_at < *settle_since) {
      at = now.instant;
      break;
    }
    const Releasing* releasing = lease.releasing();
    const std::optional<Instant> since =
        releasing != nullptr ? std::optional(releasing->since) : settle_since;
    if (!since) continue;
    const Duration age = now.instant - *since;
    const bool awaited = queue.size() > 0 || !growing.empty();
    const Duration every = !awaited                      ? seconds(1)
                           : age < limits::kProbeFastFor ? limits::kProbeFastEvery
                                                         : limits::kProbeSlowEvery;
    at = std::min(at, now.instant + every);
  }
  if (!just_swapped_out.empty()) at = now.instant;  // A sample asked since ends that.
  for (const LeaseId id : shrunk) {
    if (observed.at(id).shrink_confirmed) continue;
    const std::optional<Instant> shrunk_at = observed.at(id).shrunk_at;
    CHECK(shrunk_at.has_value());
    const bool is_older = asked_at < *shrunk_at;
    at = std::min(at, is_older ? now.instant : now.instant + limits::kProbeSlowEvery);
  }
  if (!resuming.empty()) at = std::min(at, now.instant + limits::kProbeSlowEvery);
  // A driver in trouble is not asked in a loop.
  if (!trouble.empty()) at = std::max(at, now.instant + seconds(1));
  if (at != Instant::never()) ask_probe(at);
}

}  // namespace berth::core
