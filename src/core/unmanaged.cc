// SPDX-License-Identifier: Apache-2.0
// Processes on devices that they were not given: unmanaged ones, which hold no lease at all, and
// strays, whose lease is on other devices. What they use, what of it counts, and who is notified.
#include <algorithm>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/quantity.h"
#include "core/impl.h"
#include "core/limits.h"

namespace berth::core {
namespace {

// Where a figure is missing, unmanaged processes use something between two bounds; what was known
// of them last is believed as far as these allow.
Bytes used_by_unmanaged(const DeviceSample& device, const Attributed& sums, Bytes before) {
  if (!device.used) return sums.theirs;
  const Bytes most = saturating_sub(*device.used, sums.ours);
  const Bytes least = std::min(most, std::max(saturating_sub(most, sums.assumed), sums.theirs));
  return std::clamp(before, least, most);
}

// One that was never seen alive, and so has no start time, is on its way out.
bool is_worth_telling(const UnmanagedProcess& unmanaged_process) {
  return !unmanaged_process.lease && unmanaged_process.process.start_ticks != 0 &&
         unmanaged_process.used.value_or(Bytes::max()) >= limits::kUnmanagedReportable;
}

std::string process_text(const std::string& name, Process process) {
  return (name.empty() ? "a process" : name) + " (pid " + std::to_string(process.pid);
}

std::string amount_text(std::optional<Bytes> used) {
  return used ? to_text(*used) : "an unknown amount";
}

}  // namespace

// Note [Ignored unmanaged processes]: with `unmanaged = "ignore"` the sum is made as if those who
// live and never had a lease were not there. All else that is unmanaged goes on counting: what
// leases have left behind, what nobody is listed for, and strays.
void Coordinator::Impl::account_unmanaged(const DeviceSample& device, const Attributed& sums) {
  Account& account = ledger.account(device.id);
  // Where nobody was ever listed nothing was known of them.
  const Bytes before = seen_devices.at(device.id).ever_listed ? account.unmanaged : Bytes{};
  const Bytes unmanaged = used_by_unmanaged(device, sums, before);
  Bytes ignored;
  if (settings.unmanaged == Unmanaged::kIgnore) {
    Attributed heeded = sums;
    heeded.ours += sums.outside;
    heeded.theirs = saturating_sub(sums.theirs, sums.outside);
    ignored = saturating_sub(unmanaged, used_by_unmanaged(device, heeded, account.heeded()));
  }
  dirty |= unmanaged != account.unmanaged || ignored != account.ignored;
  account.unmanaged = unmanaged;
  account.ignored = ignored;
}

// Where nobody was ever listed a lease is over with its programs, and charged nothing from then on:
// what they have left behind is what is used beyond all charges.
void Coordinator::Impl::count_left_behind(const Sample& sample) {
  for (const DeviceSample& device : sample.devices) {
    const auto known = seen_devices.find(device.id);
    const bool is_it = known != seen_devices.end() && !known->second.ever_listed && !device.lost &&
                       !device.asleep && device.used.has_value();
    if (!is_it) continue;
    Account& account = ledger.account(device.id);
    Bytes charged;
    for (const auto& [id, entry] : account.entries) charged += entry.charge;
    account.unmanaged = std::max(account.unmanaged, saturating_sub(*device.used, charged));
  }
}

void Coordinator::Impl::look_for_strays() {
  strays.clear();
  for (const Account& account : ledger.accounts()) {
    const auto known = seen_devices.find(account.id);
    if (!account.seen || known == seen_devices.end()) continue;
    for (const UnmanagedProcess& unmanaged_process : known->second.unmanaged_processes) {
      if (!unmanaged_process.lease || state.find(*unmanaged_process.lease) == nullptr) continue;
      strays[*unmanaged_process.lease].push_back({.process = unmanaged_process.process,
                                                  .name = unmanaged_process.name,
                                                  .device = account.id,
                                                  .index = account.index,
                                                  .used = unmanaged_process.used});
    }
  }
  for (const auto& [id, found] : strays) announce_strays(id, found);
}

// Each process once on each device, for as long as the lease lives.
void Coordinator::Impl::announce_strays(LeaseId id, const std::vector<Stray>& found) {
  auto& announced = observed.at(id).announced_strays;
  bool is_news = false;
  for (const Stray& stray : found) {
    if (announced.size() >= limits::kStraysTold) break;
    if (!announced.emplace(stray.device, stray.process).second) continue;
    is_news = true;
    effects.emplace_back(Say{text_of(id) + ": " + process_text(stray.name, stray.process) +
                             ") uses " + amount_text(stray.used) + " of GPU " +
                             std::to_string(checked(stray.index)) +
                             ", which the lease was not given"});
  }
  if (is_news) notify(id, LeaseEvent::kAstray);
}

void Coordinator::Impl::look_for_unmanaged(const Sample& sample) {
  for (const DeviceSample& device : sample.devices) {
    const auto found = seen_devices.find(device.id);
    if (found == seen_devices.end() || device.lost || device.asleep || !device.processes) continue;
    KnownDevice& known = found->second;
    if (settings.unmanaged != Unmanaged::kWarn) {
      known.announced.clear();
      continue;
    }
    const Account& account = *ledger.find(device.id);
    for (const UnmanagedProcess& unmanaged_process : known.unmanaged_processes) {
      if (const auto announced = known.announced.find(unmanaged_process.process);
          announced != known.announced.end()) {
        announced->second = {unmanaged_process, sample.asked_at};
      } else if (is_worth_telling(unmanaged_process) && may_announce_unmanaged()) {
        known.announced.insert({unmanaged_process.process, {unmanaged_process, sample.asked_at}});
        announce_unmanaged(account, unmanaged_process, false);
      }
    }
    // A list may lack somebody once.
    std::erase_if(known.announced, [&](const auto& entry) {
      const auto& [unmanaged_process, seen_at] = entry.second;
      if (sample.asked_at < seen_at + limits::kUnmanagedGoneAfter) return false;
      announce_unmanaged(account, unmanaged_process, true);
      return true;
    });
  }
}

// Who is passed over here is told of later, if he is still there.
bool Coordinator::Impl::may_announce_unmanaged() {
  if (now.instant >= announcing_since + minutes(1)) {
    announcing_since = now.instant;
    unmanaged_announced = 0;
  }
  if (unmanaged_announced == limits::kUnmanagedAnnouncedMax) return false;
  ++unmanaged_announced;
  return true;
}

void Coordinator::Impl::announce_unmanaged(const Account& account,
                                           const UnmanagedProcess& unmanaged_process, bool gone) {
  const std::string who = "GPU " + std::to_string(account.index) + ": " +
                          process_text(unmanaged_process.name, unmanaged_process.process) +
                          ", uid " + std::to_string(unmanaged_process.user.value) + ")";
  effects.emplace_back(Say{
      who + (gone ? " uses it no more"
                  : " uses " + amount_text(unmanaged_process.used) + " of it without a lease")});
  effects.emplace_back(NotifyUnmanaged{{.gone = gone,
                                        .device = account.id,
                                        .index = account.index,
                                        .unmanaged_process = unmanaged_process}});
}

}  // namespace berth::core
