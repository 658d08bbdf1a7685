// SPDX-License-Identifier: Apache-2.0
#include "core/unmanaged.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/quantity.h"
#include "core/limits.h"

namespace berth::core {
namespace {

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

void UnmanagedWatch::look(const Sample& sample) {
  look_for_strays();
  look_for_unmanaged(sample);
}

void UnmanagedWatch::look_for_strays() {
  std::map<LeaseId, std::vector<Stray>> strays;
  for (const Account& account : ledger_->accounts()) {
    if (!account.seen) continue;
    for (const UnmanagedProcess& unmanaged_process : attribution_->unmanaged_on(account.id)) {
      const std::optional<LeaseId> id = unmanaged_process.lease;
      if (!id || core_->state().find(*id) == nullptr) continue;
      strays[*id].push_back({.process = unmanaged_process.process,
                             .name = unmanaged_process.name,
                             .device = account.id,
                             .index = account.index,
                             .used = unmanaged_process.used});
    }
  }
  for (const auto& [id, found] : strays) announce_strays(id, found);
  strays_ = std::move(strays);
}

// Each process once on each device, for as long as the lease lives.
void UnmanagedWatch::announce_strays(LeaseId id, const std::vector<Stray>& found) {
  auto& announced = announced_strays_[id];
  bool is_news = false;
  for (const Stray& stray : found) {
    if (announced.size() >= limits::kStraysTold) break;
    if (!announced.emplace(stray.device, stray.process).second) continue;
    is_news = true;
    core_->emit(Say{text_of(id) + ": " + process_text(stray.name, stray.process) + ") uses " +
                    amount_text(stray.used) + " of GPU " + std::to_string(checked(stray.index)) +
                    ", which the lease was not given"});
  }
  if (is_news) core_->notify(id, LeaseEvent::kAstray);
}

void UnmanagedWatch::look_for_unmanaged(const Sample& sample) {
  for (const DeviceSample& device : sample.devices) {
    const Account* account = ledger_->find(device.id);
    if (account == nullptr || device.lost || device.asleep || !device.processes) continue;
    std::map<Process, Announced>& all = announced_[device.id];
    if (core_->settings().unmanaged != Unmanaged::kWarn) {
      all.clear();
      continue;
    }
    for (const UnmanagedProcess& unmanaged_process : attribution_->unmanaged_on(device.id)) {
      if (const auto announced = all.find(unmanaged_process.process); announced != all.end()) {
        announced->second = {unmanaged_process, sample.asked_at};
      } else if (is_worth_telling(unmanaged_process) && may_announce_unmanaged()) {
        all.insert({unmanaged_process.process, {unmanaged_process, sample.asked_at}});
        announce_unmanaged(*account, unmanaged_process, false);
      }
    }
    // A list may lack a process once.
    std::erase_if(all, [&](const auto& entry) {
      const auto& [unmanaged_process, seen_at] = entry.second;
      if (sample.asked_at < seen_at + limits::kUnmanagedGoneAfter) return false;
      announce_unmanaged(*account, unmanaged_process, true);
      return true;
    });
  }
}

// A process that is passed over here is told of later, if it is still there.
bool UnmanagedWatch::may_announce_unmanaged() {
  if (core_->now().instant >= announcing_since_ + minutes(1)) {
    announcing_since_ = core_->now().instant;
    unmanaged_announced_ = 0;
  }
  if (unmanaged_announced_ == limits::kUnmanagedAnnouncedMax) return false;
  ++unmanaged_announced_;
  return true;
}

void UnmanagedWatch::announce_unmanaged(const Account& account,
                                        const UnmanagedProcess& unmanaged_process, bool gone) {
  const std::string who = "GPU " + std::to_string(account.index) + ": " +
                          process_text(unmanaged_process.name, unmanaged_process.process) +
                          ", uid " + std::to_string(unmanaged_process.user.value) + ")";
  core_->emit(Say{
      who + (gone ? " uses it no more"
                  : " uses " + amount_text(unmanaged_process.used) + " of it without a lease")});
  core_->emit(NotifyUnmanaged{{.gone = gone,
                               .device = account.id,
                               .index = account.index,
                               .unmanaged_process = unmanaged_process}});
}

void UnmanagedWatch::forget(LeaseId id) {
  strays_.forget(id);
  announced_strays_.forget(id);
}

}  // namespace berth::core
