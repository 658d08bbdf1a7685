// SPDX-License-Identifier: Apache-2.0
// Processes on devices that they were not given: strangers, who hold no lease at all, and strays,
// whose lease is on other devices. What they use, what of it counts, and who is told.
#include <algorithm>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/quantity.h"
#include "core/impl.h"
#include "core/limits.h"

namespace berth::core {
namespace {

// Where a figure is missing, strangers use something between two bounds; what was known of them
// last is believed as far as these allow.
Bytes used_by_strangers(const DeviceSample& device, const Attributed& sums, Bytes before) {
  if (!device.used) return sums.theirs;
  const Bytes most = saturating_sub(*device.used, sums.ours);
  const Bytes least = std::min(most, std::max(saturating_sub(most, sums.assumed), sums.theirs));
  return std::clamp(before, least, most);
}

// One that was never seen alive, and so has no start time, is on its way out.
bool is_worth_telling(const StrangerView& stranger) {
  return !stranger.lease && stranger.process.start_ticks != 0 &&
         stranger.used.value_or(Bytes::max()) >= limits::kStrangerWorthTelling;
}

std::string process_text(const std::string& name, Process process) {
  return (name.empty() ? "a process" : name) + " (pid " + std::to_string(process.pid);
}

std::string amount_text(std::optional<Bytes> used) {
  return used ? to_text(*used) : "an unknown amount";
}

}  // namespace

// Note [Ignored strangers]: with `unmanaged = "ignore"` the sum is made as if those who live and
// never had a lease were not there. All else that is external goes on counting: what leases have
// left behind, what nobody is listed for, and strays.
void Coordinator::Impl::account_external(const DeviceSample& device, const Attributed& sums) {
  Account& account = ledger.account(device.id);
  // Where nobody was ever listed nothing was known of them.
  const Bytes before = seen_devices.at(device.id).ever_told ? account.external : Bytes{};
  const Bytes external = used_by_strangers(device, sums, before);
  Bytes ignored;
  if (settings.unmanaged == Unmanaged::kIgnore) {
    Attributed heeded = sums;
    heeded.ours += sums.outside;
    heeded.theirs = saturating_sub(sums.theirs, sums.outside);
    ignored = saturating_sub(external, used_by_strangers(device, heeded, account.heeded()));
  }
  dirty |= external != account.external || ignored != account.ignored;
  account.external = external;
  account.ignored = ignored;
}

// Where nobody was ever listed a lease is over with its programs, and charged nothing from then on:
// what they have left behind is what is used beyond all charges.
void Coordinator::Impl::count_left_behind(const Sample& sample) {
  for (const DeviceSample& device : sample.devices) {
    const auto known = seen_devices.find(device.id);
    const bool is_it = known != seen_devices.end() && !known->second.ever_told && !device.lost &&
                       !device.asleep && device.used.has_value();
    if (!is_it) continue;
    Account& account = ledger.account(device.id);
    Bytes charged;
    for (const auto& [id, entry] : account.entries) charged += entry.charge;
    account.external = std::max(account.external, saturating_sub(*device.used, charged));
  }
}

void Coordinator::Impl::look_for_strays() {
  strays.clear();
  for (const Account& account : ledger.accounts()) {
    const auto known = seen_devices.find(account.id);
    if (!account.seen || known == seen_devices.end()) continue;
    for (const StrangerView& stranger : known->second.strangers) {
      if (!stranger.lease || state.find(*stranger.lease) == nullptr) continue;
      strays[*stranger.lease].push_back({.process = stranger.process,
                                         .name = stranger.name,
                                         .device = account.id,
                                         .index = account.index,
                                         .used = stranger.used});
    }
  }
  for (const auto& [id, found] : strays) announce_strays(id, found);
}

// Each process once on each device, for as long as the lease lives.
void Coordinator::Impl::announce_strays(LeaseId id, const std::vector<Stray>& found) {
  auto& told = observed.at(id).strays_told;
  bool is_news = false;
  for (const Stray& stray : found) {
    if (told.size() >= limits::kStraysTold) break;
    if (!told.emplace(stray.device, stray.process).second) continue;
    is_news = true;
    effects.emplace_back(Say{text_of(id) + ": " + process_text(stray.name, stray.process) +
                             ") uses " + amount_text(stray.used) + " of GPU " +
                             std::to_string(checked(stray.index)) +
                             ", which the lease was not given"});
  }
  if (is_news) notify(id, News::kAstray);
}

void Coordinator::Impl::look_for_strangers(const Sample& sample) {
  for (const DeviceSample& device : sample.devices) {
    const auto found = seen_devices.find(device.id);
    if (found == seen_devices.end() || device.lost || device.asleep || !device.processes) continue;
    KnownDevice& known = found->second;
    if (settings.unmanaged != Unmanaged::kWarn) {
      known.told.clear();
      continue;
    }
    const Account& account = *ledger.find(device.id);
    for (const StrangerView& stranger : known.strangers) {
      if (const auto told = known.told.find(stranger.process); told != known.told.end()) {
        told->second = {stranger, sample.asked_at};
      } else if (is_worth_telling(stranger) && may_tell_of_stranger()) {
        known.told.insert({stranger.process, {stranger, sample.asked_at}});
        announce_stranger(account, stranger, false);
      }
    }
    // A list may lack somebody once.
    std::erase_if(known.told, [&](const auto& entry) {
      const auto& [stranger, seen_at] = entry.second;
      if (sample.asked_at < seen_at + limits::kStrangerGoneAfter) return false;
      announce_stranger(account, stranger, true);
      return true;
    });
  }
}

// Who is passed over here is told of later, if he is still there.
bool Coordinator::Impl::may_tell_of_stranger() {
  if (now.instant >= telling_since + minutes(1)) {
    telling_since = now.instant;
    strangers_told = 0;
  }
  if (strangers_told == limits::kStrangersTold) return false;
  ++strangers_told;
  return true;
}

void Coordinator::Impl::announce_stranger(const Account& account, const StrangerView& stranger,
                                          bool gone) {
  const std::string who = "GPU " + std::to_string(account.index) + ": " +
                          process_text(stranger.name, stranger.process) + ", uid " +
                          std::to_string(stranger.user.value) + ")";
  effects.emplace_back(
      Say{who + (gone ? " uses it no more"
                      : " uses " + amount_text(stranger.used) + " of it without a lease")});
  effects.emplace_back(NotifyStranger{
      {.gone = gone, .device = account.id, .index = account.index, .stranger = stranger}});
}

}  // namespace berth::core
