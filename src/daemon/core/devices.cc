// SPDX-License-Identifier: Apache-2.0
#include "core/devices.h"

#include <algorithm>
#include <utility>

#include "core/limits.h"

namespace berth::core {

bool Devices::hear(const Sample& sample) {
  sample_seen_ = true;
  simulated_ = sample.simulated;
  trouble_ = sample.trouble;
  if (!sample.driver_version.empty()) driver_version_ = sample.driver_version;
  if (!trouble_.empty()) return false;
  contexts_.clear();
  for (const ContextSample& known : sample.contexts) {
    contexts_[{known.user, known.device}] = known.cost;
  }
  return true;
}

void Devices::update(const Sample& sample) {
  std::vector<DeviceId> came_or_went;
  const auto note = [&](const Account& account, bool was_seen) {
    if (account.seen != was_seen) came_or_went.push_back(account.id);
  };
  for (const auto& [device, last] : known_) {
    const bool checked = std::ranges::any_of(
        sample.devices, [&](const DeviceSample& other) { return other.id == device; });
    if (checked) continue;
    Account& account = ledger_->account(device);
    note(account, std::exchange(account.seen, false));
  }
  for (const DeviceSample& device : sample.devices) {
    const Account* account = ledger_->find(device.id);
    const bool was_seen = account != nullptr && account->seen;
    update(device, sample);
    if (const Account* updated = ledger_->find(device.id)) note(*updated, was_seen);
  }
  ledger_->sort();
  for (const DeviceId device : came_or_went) {
    for (const auto& [id, entry] : ledger_->find(device)->entries) announce_lost(id);
  }
  core_->look_again();
}

void Devices::update(const DeviceSample& device, const Sample& sample) {
  if (known_.size() >= limits::kDevicesMax && !known_.contains(device.id)) return;
  Account& account = ledger_->account(device.id);
  KnownDevice& last = known_[device.id];
  account.seen = !device.lost;
  last.trouble = device.trouble;
  if (device.lost) return;
  account.index = device.index;
  account.model = device.model;
  if (!device.asleep || device.capacity > Bytes{}) account.capacity = device.capacity;
  account.driver = device.figures.driver_reserved.value_or(Bytes{});
  const Settings& settings = core_->settings();
  const auto own = settings.device_reserve.find(device.id);
  account.reserve = own == settings.device_reserve.end() ? settings.reserve : own->second;
  last.pci_bus = device.pci_bus;
  last.asleep = device.asleep;
  last.used = device.used;
  last.figures = device.figures;
  last.lists_processes = device.processes.has_value();
  last.ever_listed |= last.lists_processes;
  last.asked_at = sample.asked_at;
  last.sampled_at = sample.answered_at;
}

void Devices::keep_reserves() {
  const Settings& settings = core_->settings();
  for (const auto& [device, last] : known_) {
    const auto own = settings.device_reserve.find(device);
    Account& account = ledger_->account(device);
    account.reserve = own == settings.device_reserve.end() ? settings.reserve : own->second;
    // What is to be ignored from now on the next sample tells.
    if (settings.unmanaged != Unmanaged::kIgnore) account.ignored = {};
  }
}

void Devices::announce_lost(LeaseId id) {
  bool degraded = false;
  for (const Part& part : core_->state().find(id)->granted()->parts) {
    const Account* account = ledger_->find(part.device);
    degraded |= account == nullptr || (!account->seen && known_.contains(account->id));
  }
  if (degraded && !degraded_.at(id)) core_->notify(id, LeaseEvent::kDegraded);
  degraded_[id] = degraded;
}

const KnownDevice* Devices::find(DeviceId device) const {
  const auto found = known_.find(device);
  return found == known_.end() ? nullptr : &found->second;
}

std::variant<std::vector<DeviceId>, Refusal> Devices::named(
    const std::vector<DeviceName>& names) const {
  std::vector<DeviceId> devices;
  for (const DeviceName& name : names) {
    const auto* id = std::get_if<DeviceId>(&name);
    const auto found = std::ranges::find_if(ledger_->accounts(), [&](const Account& account) {
      return id != nullptr ? account.id == *id
                           : account.seen && account.index == std::get<std::uint32_t>(name);
    });
    const std::string text =
        id != nullptr ? to_text(*id) : std::to_string(std::get<std::uint32_t>(name));
    if (found == ledger_->accounts().end()) {
      return Refusal{RefusalCode::kNoDevice, "there is no GPU " + text +
                                                 " here: this machine has " +
                                                 std::to_string(ledger_->accounts().size()) +
                                                 ", numbered from 0 (berth status lists them)"};
    }
    if (std::ranges::find(devices, found->id) != devices.end()) {
      return Refusal{RefusalCode::kInvalid, "GPU " + text + " is named twice"};
    }
    devices.push_back(found->id);
  }
  return devices;
}

std::vector<const Account*> Devices::sampled(const Sample& sample) const {
  std::vector<const Account*> accounts;
  for (const DeviceSample& device : sample.devices) {
    const Account* account = ledger_->find(device.id);
    if (account != nullptr && !device.lost && !device.asleep) accounts.push_back(account);
  }
  return accounts;
}

// A driver that has listed processes before and now does not says nothing about who is left; one
// that never does leaves nothing to go by but the end itself. A lost device cannot be asked.
bool Devices::tells_who_is_left(DeviceId device) const {
  const Account* account = ledger_->find(device);
  if (account == nullptr || !account->seen) return false;
  const KnownDevice* known = find(device);
  return known == nullptr || known->lists_processes || !known->ever_listed;
}

// What has ended is off a device that sleeps: to clear it away, the driver would have woken it.
bool Devices::sleeps(DeviceId device) const {
  const KnownDevice* known = find(device);
  return known != nullptr && known->asleep;
}

Bytes Devices::context_cost(UserId user, DeviceId device) const {
  const auto known = contexts_.find({user, device});
  return known == contexts_.end() ? core_->settings().context_estimate : known->second;
}

Bytes Devices::dearest_context(const Lease& lease) const {
  Bytes most;
  for (const Part& part : lease.granted()->parts) {
    most = std::max(most, context_cost(lease.user, part.device));
  }
  return most;
}

}  // namespace berth::core
