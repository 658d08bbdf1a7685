// SPDX-License-Identifier: Apache-2.0
#include "server/budget_files.h"

#include <algorithm>
#include <utility>

#include "guard/layout.h"
#include "os/files.h"
#include "os/own_file_system.h"
#include "os/processes.h"
#include "os/users.h"

namespace berth::server {
namespace {

// Whether its pid and its start time are as we have them too.
bool is_known(const enforce::Use::Slot& slot) {
  static const std::uint64_t kOwn = os::own_pid_namespace();
  static const std::uint64_t kOwnBoth = guard::namespaces_of(kOwn, os::own_time_namespace());
  return slot.namespaces == (guard::is_locking(slot.namespaces) ? kOwnBoth : kOwn);
}

// A handle is a secret, and a log is read by others: paths say which lease it is, and no more.
std::string without_handle(std::string text, const enforce::Holder& lease) {
  const std::string handle = to_text(lease.handle);
  const std::string instead = "(lease " + std::to_string(lease.number.value) + ")";
  for (std::size_t at = text.find(handle); at != std::string::npos; at = text.find(handle, at)) {
    text.replace(at, handle.size(), instead);
    at += instead.size();
  }
  return text;
}

std::optional<ChargeSample::Refusal> refusal_on(std::size_t part, const enforce::Use& use) {
  if (!use.refusal || use.refusal->part != part) return std::nullopt;
  return ChargeSample::Refusal{.bytes = use.refusal->bytes, .used = use.refusal->used};
}

}  // namespace

BudgetFiles::BudgetFiles(const enforce::LeaseFiles::Settings& settings, std::string contexts_path,
                         const os::Clock& clock, std::function<void(const std::string&)> warn,
                         std::function<bool(Process)> is_alive)
    : files_(settings),
      clock_(clock),
      warn_(std::move(warn)),
      is_alive_(std::move(is_alive)),
      costs_file_{.path = std::move(contexts_path), .text = {}},
      guess_(settings.context) {
  recall_costs();
  if (settings.readers == enforce::LeaseFiles::Readers::kAllUsers &&
      !os::has_own_file_system(settings.root)) {
    warn_(settings.root +
          " has no file system of its own: whoever holds a lease can fill the one that it lies in" +
          " (systemctl start run-berth-berthd.leases.mount)");
  }
}

// It is a measurement, and may be lost.
void BudgetFiles::recall_costs() {
  costs_file_.text = costs_.to_text();
  const Result<std::string> text = os::read_file(costs_file_.path, ContextCosts::kTextMax);
  if (!text.ok() && text.error().code == Errc::kNotFound) return;
  const Status recalled = text.ok() ? costs_.recall(*text, os::own_user()) : Status(text.error());
  if (!recalled.ok()) {
    warn_("what contexts cost is measured anew where " + costs_file_.path +
          " does not say it: " + recalled.error().message);
  }
  costs_file_.text = costs_.to_text();
}

// It changes when a model of device is seen first, and seldom after that.
void BudgetFiles::keep_costs() {
  std::string text = costs_.to_text();
  if (text == costs_file_.text) return;
  const Status kept = os::write_file_atomically(costs_file_.path, text, 0600, os::Sync::kNone);
  if (!kept.ok()) warn_("what contexts cost is not kept: " + kept.error().message);
  costs_file_.text = std::move(text);
}

void BudgetFiles::configure(const enforce::LeaseFiles::Settings& settings) {
  guess_ = settings.context;
  files_.set_shown(settings.shown);
}

void BudgetFiles::set_budgets(const enforce::Holder& lease,
                              const std::vector<enforce::Budget>& budgets, When when) {
  const Handle handle = lease.handle;
  if (budgets.empty()) {
    new_.erase(handle);
    before_.erase(handle);
    published_.erase(handle);
    paused_.erase(handle);
    dead_.forget(handle);
    if (made_.erase(handle) == 0) return;
    old_.push_back(handle);
    tidy_at_ = clock_.now() + kQuietFor;
  } else if (const auto made = made_.find(handle); made != made_.end()) {
    // On another device what its contexts cost is told anew.
    if (!std::ranges::equal(made->second.budgets, budgets, {}, &enforce::Budget::device,
                            &enforce::Budget::device)) {
      published_.erase(handle);
    }
    set({.lease = lease, .budgets = budgets, .given_up = made->second.given_up});
  } else if (when == When::kSoon) {
    new_[handle] = {.lease = lease, .budgets = budgets};
  } else {
    new_.erase(handle);
    make({.lease = lease, .budgets = budgets});
  }
}

// A file that an earlier daemon made may say anything: so it is told once in any case.
void BudgetFiles::pause(Handle lease, enforce::Paused paused) {
  const auto made = made_.find(lease);
  if (made == made_.end() || made->second.given_up) return;
  const auto known = paused_.find(lease);
  if (known != paused_.end() && known->second == paused) return;
  if (const Status written = files_.pause(lease, paused); !written.ok())
    warn(lease, "is paused, which its programs are not told", written.error());
  paused_[lease] = paused;
}

void BudgetFiles::catch_up() {
  for (auto& [lease, held] : std::exchange(new_, {})) make(std::move(held));
  while (old_.size() > kOldMax) remove_oldest();
}

void BudgetFiles::make(Held held) {
  // Offered again: nothing of the earlier offer may be left.
  const Handle lease = held.lease.handle;
  if (std::erase(old_, lease) > 0) files_.remove(lease);
  set(std::move(held));
  tidy_at_ = clock_.now() + kQuietFor;
}

// One at a time: a client that asks meanwhile does not wait for all of them.
void BudgetFiles::tidy() {
  if (!old_.empty() && clock_.now() >= tidy_at_) remove_oldest();
}

void BudgetFiles::tidy_all() {
  while (!old_.empty()) remove_oldest();
}

void BudgetFiles::remove_oldest() {
  files_.remove(old_.front());
  old_.pop_front();
}

// A lease without these files is a lease all the same; what runs in it is not held to its budget.
void BudgetFiles::set(Held held) {
  const Handle lease = held.lease.handle;
  Budgets wanted = held.budgets;
  for (enforce::Budget& budget : wanted)
    budget.context = context_cost(held.lease.user, budget.device);
  const Held& made = made_[lease] = std::move(held);
  if (made.given_up) return;
  if (const Status set = files_.set(made.lease, wanted); !set.ok())
    warn(lease, "is not held to its budget", set.error());
  if (on_made_) on_made_(lease, files_.ledger(lease));
}

// Of a lease that has files, or was to have them.
void BudgetFiles::warn(Handle lease, const std::string& what, const Error& error) {
  const auto made = made_.find(lease);
  if (made == made_.end()) return;
  const enforce::Holder& holder = made->second.lease;
  warn_("lease " + std::to_string(holder.number.value) + " of user " +
        std::to_string(holder.user.value) + " " + what + ": " +
        without_handle(error.message, holder));
}

// A pid of other namespaces says nothing: then the lock does, and what an earlier guard wrote there
// counts. See Note [Who is alive] in guard/ledger.cc.
bool BudgetFiles::lives(const enforce::Use::Slot& slot) const {
  if (is_known(slot)) return is_alive_(slot.process);
  return slot.locked || !guard::is_locking(slot.namespaces);
}

// Its programs write `use`. A lease whose programs write other things into it, or give it another
// size, is not believed any more; and what is of another size is cut back, each time, for it lies
// in memory that all users share.
void BudgetFiles::give_up(Held& held, const Error& error) {
  const Handle lease = held.lease.handle;
  const Status cut = files_.give_up(lease, held.budgets.size());
  if (std::exchange(held.given_up, true)) return;
  warn(lease, "is not held to its budget any more, only measured", cut.ok() ? error : cut.error());
}

// By their pids, where we can tell whose they are. Of others only the lock says that they are dead,
// and a program may have closed it: they are left alone until a program needs the room.
std::vector<DeadSlots::Dead> BudgetFiles::dead_of(const Held& held, const enforce::Use& use) const {
  std::map<std::uint32_t, DeadSlots::Dead> dead;
  for (std::size_t i = 0; i < use.parts.size(); ++i) {
    for (const enforce::Use::Slot& slot : use.parts[i].slots) {
      const bool named = is_known(slot);
      if (slot.charged == Bytes{} || lives(slot) || (!named && !use.wanting)) continue;
      DeadSlots::Dead& one = dead[slot.index];
      one.slot = slot;
      one.named = named;
      one.devices.push_back(held.budgets[i].device);
    }
  }
  std::vector<DeadSlots::Dead> all;
  all.reserve(dead.size());
  for (auto& [index, one] : dead) all.push_back(std::move(one));
  return all;
}

std::optional<enforce::Use> BudgetFiles::read(Held& held) {
  Result<enforce::Use> use = files_.read(held.lease.handle);
  const bool fits = use.ok() && use->parts.size() == held.budgets.size();
  if (use.ok() && !fits) {
    give_up(held, Error{Errc::kCorrupt, "its file `use` is of other devices"});
  } else if (!use.ok() && use.error().code == Errc::kCorrupt) {
    give_up(held, use.error());
  }
  if (!fits || held.given_up) return std::nullopt;
  return *std::move(use);
}

// What a dead process has charged counts until the driver has freed it: for guards it does as well.
std::vector<BudgetFiles::Account> BudgetFiles::accounts_in(const enforce::Use& use) const {
  std::vector<Account> accounts;
  for (const enforce::Use::Part& part : use.parts) {
    Account& account = accounts.emplace_back(Account{.peak = part.peak, .refused = part.refused});
    for (const enforce::Use::Slot& slot : part.slots) {
      account.changes += slot.changes;
      const bool counts = slot.charged > Bytes{} || slot.wanted > Bytes{};
      if (!counts) continue;
      const bool living = lives(slot);
      (living || is_known(slot) ? account.charged : account.dead) += slot.charged;
      if (!living) continue;
      if (slot.context > Bytes{} && is_known(slot)) account.contexts.push_back(slot);
      account.wanted += slot.wanted;
    }
  }
  return accounts;
}

void BudgetFiles::before_question() {
  before_.clear();
  looks_.clear();
  const Instant now = clock_.now();
  // While a program waits for memory to come free the driver is asked a hundred times a second.
  const std::set<Handle> expected = std::exchange(expected_, {});
  read_all_ = now >= read_at_ + kReadEvery;
  if (expected.empty() && !read_all_) return;
  if (read_all_) read_at_ = now;
  for (auto& [lease, held] : made_) {
    if (!read_all_ && !expected.contains(lease)) continue;
    const std::optional<enforce::Use> use = read(held);
    if (use) dead_.found(lease, dead_of(held, *use), now);
    if (read_all_) before_.emplace(lease, use ? accounts_in(*use) : std::vector<Account>());
  }
}

void BudgetFiles::settle_dead(const Sample& sample) {
  for (const DeadSlots::Settled& settled : dead_.answered(sample, clock_.now())) {
    if (!made_.contains(settled.lease)) continue;
    if (const Status cleared = files_.clear(settled.lease, settled.freed); !cleared.ok())
      warn(settled.lease, "may count what its dead processes had", cleared.error());
  }
}

std::vector<ChargeSample> BudgetFiles::charges(const std::vector<Handle>& ended) {
  for (const Handle lease : ended) before_.try_emplace(lease);
  std::vector<ChargeSample> charges;
  for (const auto& [lease, before] : std::exchange(before_, {})) {
    const auto made = made_.find(lease);
    if (made == made_.end()) continue;
    const enforce::Holder& holder = made->second.lease;
    const Budgets& budgets = made->second.budgets;
    const std::optional<enforce::Use> use = read(made->second);
    if (!use) continue;
    const std::vector<Account> accounts = accounts_in(*use);
    for (std::size_t i = 0; i < accounts.size(); ++i) {
      const Account& account = accounts[i];
      const DeviceId device = budgets[i].device;
      look_at_contexts(holder, device, i < before.size() ? &before[i] : nullptr, account);
      charges.push_back({.lease = lease,
                         .device = device,
                         .charged = account.charged,
                         .peak = account.peak,
                         .wanted = account.wanted,
                         .refused = account.refused,
                         .refusal = refusal_on(i, *use),
                         .unchanged = i < before.size() && before[i].changes == account.changes &&
                                      before[i].charged == account.charged &&
                                      before[i].dead == account.dead,
                         .excess = excess_of(lease, device, account),
                         .dead = account.dead});
    }
  }
  return charges;
}

void BudgetFiles::look_at_contexts(const enforce::Holder& lease, DeviceId device,
                                   const Account* before, const Account& account) {
  for (const enforce::Use::Slot& slot : account.contexts) {
    const bool unchanged =
        before != nullptr && std::ranges::find(before->contexts, slot) != before->contexts.end();
    looks_.push_back({.lease = lease.handle,
                      .user = lease.user,
                      .device = device,
                      .process = slot.process,
                      .context = slot.context,
                      .beside = saturating_sub(slot.charged, slot.context),
                      .changes = slot.changes,
                      .exact = slot.exact,
                      .unchanged = unchanged});
  }
}

Bytes BudgetFiles::excess_of(Handle lease, DeviceId device, const Account& account) const {
  Bytes excess;
  const std::optional<Bytes> most = costs_.most(lease, device);
  for (const enforce::Use::Slot& slot : account.contexts) {
    if (most) excess += saturating_sub(slot.context, *most);
  }
  return excess;
}

std::vector<ContextSample> BudgetFiles::learn(const Sample& sample) {
  if (!std::exchange(read_all_, false)) return costs_.on(sample);
  costs_.look(sample, std::exchange(looks_, {}));
  keep_costs();
  for (const auto& [lease, held] : made_) {
    const Budgets& budgets = held.budgets;
    Costs costs = published(lease, budgets.size());
    for (std::size_t i = 0; i < budgets.size(); ++i) {
      const DeviceId device = budgets[i].device;
      if (const auto cost = costs_.of(held.lease.user, device)) costs[i].first = cost;
      if (costs_.most(lease, device) != costs[i].most) costs[i].most = {};
    }
    tell_contexts(lease, std::move(costs));
  }
  return costs_.on(sample);
}

// First what is used, then what may be given back: in between nobody is allowed more.
void BudgetFiles::set_unaccounted(Handle lease, const std::vector<Bytes>& unaccounted,
                                  const std::vector<bool>& may_give_back) {
  const auto made = made_.find(lease);
  if (made == made_.end() || made->second.given_up) return;
  if (const Status set = files_.set_unaccounted(lease, unaccounted); !set.ok())
    warn(lease, "is not held to its budget", set.error());
  const Budgets& budgets = made->second.budgets;
  if (budgets.size() != may_give_back.size()) return;
  Costs costs = published(lease, may_give_back.size());
  for (std::size_t i = 0; i < may_give_back.size(); ++i) {
    const std::optional<Bytes> most = costs_.most(lease, budgets[i].device);
    costs[i].most = may_give_back[i] ? most.value_or(Bytes{}) : Bytes{};
  }
  tell_contexts(lease, std::move(costs));
}

void BudgetFiles::tell_contexts(Handle lease, Costs costs) {
  const auto published = published_.find(lease);
  if (published != published_.end() && published->second == costs) return;
  const auto made = made_.find(lease);
  if (made != made_.end() && made->second.given_up) return;
  if (const Status set = files_.set_contexts(lease, costs); !set.ok())
    warn(lease, "is not told what contexts cost", set.error());
  published_[lease] = std::move(costs);
}

BudgetFiles::Costs BudgetFiles::published(Handle lease, std::size_t devices) const {
  const auto published = published_.find(lease);
  return published == published_.end() ? Costs(devices) : published->second;
}

}  // namespace berth::server
