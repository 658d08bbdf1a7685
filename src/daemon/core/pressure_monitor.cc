// SPDX-License-Identifier: Apache-2.0
#include "core/pressure_monitor.h"

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "core/limits.h"

namespace berth::core {
namespace {

// The end of a slow drift is no news.
constexpr double kPredictedAtMostSeconds = 24.0 * 60 * 60;

bool reaches(Bytes used, Bytes budget, std::uint32_t percent) {
  return budget > Bytes{} &&
         static_cast<double>(used.value) * 100 >= static_cast<double>(budget.value) * percent;
}

std::optional<Duration> until_full(Bytes used, Bytes budget, double per_second) {
  if (per_second <= 0) return std::nullopt;
  const double left = static_cast<double>(saturating_sub(budget, used).value) / per_second;
  if (left > kPredictedAtMostSeconds) return std::nullopt;
  return Duration{static_cast<std::int64_t>(left * 1e9)};
}

}  // namespace

void PressureMonitor::update(const Sample& sample) {
  const std::vector<const Account*> accounts = devices_->sampled(sample);
  for (const Account* account : accounts) update_device(*account, sample.asked_at);
  for (const LeaseId id : leases_on(accounts)) update_lease(id, sample.asked_at);
  const bool is_urgent =
      std::ranges::any_of(accounts, [&](const Account* account) { return gets_worse(*account); });
  if (is_urgent) core_->ask_probe(sample.asked_at + limits::kProbePressedEvery);
}

// A level that lasts is no reason to look more often: what matters is how soon it is passed.
bool PressureMonitor::gets_worse(const Account& account) const {
  const OnDevice& device = known_.at(account.id);
  const bool is_pressed = device.state.level() != Pressure::kNormal;
  if (is_pressed && device.rises) return true;
  return std::ranges::any_of(account.entries, [&](const auto& entry) {
    const OfLease& lease = leases_.at(entry.first);
    return lease.rises && (is_pressed || lease.state.level() != Pressure::kNormal);
  });
}

void PressureMonitor::update_device(const Account& account, Instant at) {
  OnDevice& device = known_[account.id];
  device.rises = device.unmanaged.is_below(account.unmanaged);
  device.unmanaged.add(at, account.unmanaged);
  Room room{.free = {}, .owed = {}, .owed_most = {}, .intruding = device.unmanaged.per_second()};
  const KnownDevice* told = devices_->find(account.id);
  bool known = told != nullptr && told->used.has_value() && told->lists_processes;
  for (const auto& [id, entry] : account.entries) {
    const Use* use = attribution_->use(id, account.id);
    known = known && (use == nullptr || !use->figure_missing);
    const Bytes used = use == nullptr ? Bytes{} : use->now.value_or(Bytes{});
    const Bytes owed = saturating_sub(entry.budget, used);
    room.owed += owed;
    room.owed_most = std::max(room.owed_most, owed);
  }
  device.owed = known ? std::optional(room.owed) : std::nullopt;
  if (!known) return;  // What was felt last stays.
  room.free = saturating_sub(account.capacity, account.driver + checked(told->used));
  const Pressure before = device.state.level();
  device.measured = pressure_of(room, core_->settings().pressure.ahead);
  device.state.measure(at, device.measured);
  if (device.state.level() == before) return;
  core_->changed();
  core_->emit(NotifyDevice{account.id});
}

void PressureMonitor::update_lease(LeaseId id, Instant at) {
  const Lease& lease = *core_->state().find(id);
  OfLease& known = leases_[id];
  known.rises = false;
  if (lease.held() == nullptr) return;
  Pressure level = Pressure::kNormal;
  known.full_in.reset();
  for (const Part& part : lease.held()->parts) {
    const Use* use = attribution_->use(id, part.device);
    if (use == nullptr) continue;
    if (use->figure_missing) return;
    const Bytes used = use->higher_now();
    Trend& trend = attribution_->trend(id, part.device);
    known.rises |= trend.is_below(used);
    trend.add(at, used);
    if (reaches(used, part.budget, core_->settings().pressure.critical_percent)) {
      level = Pressure::kCritical;
    } else if (reaches(used, part.budget, core_->settings().pressure.warn_percent)) {
      level = std::max(level, Pressure::kWarn);
    }
    if (const auto left = until_full(used, part.budget, trend.per_second())) {
      known.full_in = std::min(known.full_in.value_or(*left), *left);
    }
  }
  const Pressure before = known.state.level();
  known.state.measure(at, level);
  if (known.state.level() != before) core_->notify(id, LeaseEvent::kPressure);
}

Pressure PressureMonitor::on(DeviceId device) const {
  const auto found = known_.find(device);
  return found == known_.end() ? Pressure::kNormal : found->second.state.level();
}

bool PressureMonitor::is_critical_now(DeviceId device) const {
  const auto found = known_.find(device);
  return found != known_.end() && found->second.measured == Pressure::kCritical;
}

std::optional<Bytes> PressureMonitor::owed(DeviceId device) const {
  const auto found = known_.find(device);
  return found == known_.end() ? std::nullopt : found->second.owed;
}

std::vector<LeaseId> leases_on(const std::vector<const Account*>& accounts) {
  std::vector<LeaseId> leases;
  for (const Account* account : accounts) {
    for (const auto& [id, entry] : account->entries) leases.push_back(id);
  }
  std::ranges::sort(leases);
  leases.erase(std::ranges::unique(leases).begin(), leases.end());
  return leases;
}

}  // namespace berth::core
