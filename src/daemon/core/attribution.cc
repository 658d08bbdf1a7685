// SPDX-License-Identifier: Apache-2.0
#include "core/attribution.h"

#include <algorithm>
#include <utility>

namespace berth::core {
std::set<LeaseId> Attribution::take(const Sample& sample) {
  std::set<LeaseId> touched = std::exchange(measured_, {});
  for (const LeaseId id : touched) {
    for (auto& [device, use] : known_[id].uses) {
      use.now.reset();
      use.gpu_utilization.reset();
      use.figure_missing = use.runs_on = false;
    }
  }
  for (const DeviceSample& device : sample.devices) attribute(device, sample.asked_at, touched);
  believe_shrunk(sample, touched);
  touched.merge(confirmations_->take_swapped_out(sample));
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
    const std::optional<LeaseId> id = membership_->lease_of(process, device.id);
    const Lease* lease = id ? core_->state().find(*id) : nullptr;
    const Held* granted = lease == nullptr ? nullptr : lease->granted();
    // A lease that was found free is charged nothing; what turns up of it all the same is
    // unmanaged.
    const bool counts = granted != nullptr && !confirmations_->is_free(lease->id);
    if (counts && granted->is_on(device.id)) {
      attribute(device, process, *lease, sums);
      touched.insert(lease->id);
      membership_->note(process, *lease, asked_at);
      // After the end of its lease none becomes a member. What the dead have comes free by itself.
      const bool is_told = granted->command == process.process ||
                           granted->members.contains(process.process) || !process.alive;
      known_[lease->id].uses[device.id].runs_on |= !is_told;
      continue;
    }
    others.push_back({.process = process.process,
                      .user = process.user,
                      .name = process.name,
                      .used = process.used,
                      .gpu_utilization = process.gpu_utilization,
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
  if (process.gpu_utilization) {
    use.gpu_utilization =
        std::min(use.gpu_utilization.value_or(0) + *process.gpu_utilization, 100U);
  }
  measured_.insert(lease.id);
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
  for (const LeaseId id : std::set(confirmations_->shrunk())) {
    if (sample.asked_at < confirmations_->shrunk_at(id)) continue;
    const Held* held = core_->state().find(id)->held();
    if (held != nullptr && held->suspension) {
      // What it has is not what it may have again; but what it left where it was is known now.
      confirmations_->confirm_left(id);
      touched.insert(id);
      continue;
    }
    Uses& uses = known_[id].uses;
    const bool all_known = std::ranges::all_of(uses, [&](const auto& entry) {
      // Where a figure never came none is waited for.
      const bool missed = entry.second.figure_missing && entry.second.peak > Bytes{};
      return entry.second.upper_bound == Bytes{} ||
             (!missed && devices_->tells_who_is_left(entry.first));
    });
    if (!all_known) continue;
    for (auto& [device, use] : uses) use.upper_bound = {};
    confirmations_->confirm_shrunk(id);
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
