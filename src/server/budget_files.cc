// SPDX-License-Identifier: Apache-2.0
#include "server/budget_files.h"

#include <algorithm>
#include <utility>

#include "os/files.h"
#include "os/processes.h"

namespace berth::server {
namespace {

bool is_known(const enforce::Use::Slot& slot) {
  static const std::uint64_t kOwnNamespace = os::own_pid_namespace();
  return slot.pid_namespace == kOwnNamespace;
}

}  // namespace

BudgetFiles::BudgetFiles(const enforce::LeaseFiles::Settings& settings, std::string contexts_path,
                         const os::Clock& clock, std::function<void(const std::string&)> warn,
                         std::function<bool(Process)> is_alive)
    : files_(settings),
      clock_(clock),
      warn_(std::move(warn)),
      is_alive_(std::move(is_alive)),
      contexts_path_(std::move(contexts_path)),
      guess_(settings.context) {
  recall_costs();
}

// It is a measurement, and may be lost.
void BudgetFiles::recall_costs() {
  kept_ = costs_.to_text();
  const Result<std::string> text = os::read_file(contexts_path_, ContextCosts::kTextMax);
  if (!text.ok() && text.error().code == Errc::kNotFound) return;
  const Status recalled = text.ok() ? costs_.recall(*text) : Status(text.error());
  if (!recalled.ok()) {
    warn_("what contexts cost is measured anew where " + contexts_path_ +
          " does not say it: " + recalled.error().message);
  }
  kept_ = costs_.to_text();
}

// It changes when a model of device is seen first, and seldom after that.
void BudgetFiles::keep_costs() {
  std::string text = costs_.to_text();
  if (text == kept_) return;
  const Status kept = os::write_file_atomically(contexts_path_, text, 0600, os::Sync::kNone);
  if (!kept.ok()) warn_("what contexts cost is not kept: " + kept.error().message);
  kept_ = std::move(text);
}

void BudgetFiles::configure(const enforce::LeaseFiles::Settings& settings) {
  guess_ = settings.context;
  files_.set_shown(settings.shown);
}

void BudgetFiles::hold_to(Handle lease, const std::vector<enforce::Budget>& budgets, When when) {
  if (budgets.empty()) {
    new_.erase(lease);
    before_.erase(lease);
    told_.erase(lease);
    paused_.erase(lease);
    if (made_.erase(lease) == 0) return;
    old_.push_back(lease);
    tidy_at_ = clock_.now() + kQuietFor;
  } else if (const auto made = made_.find(lease); made != made_.end()) {
    // On another device what its contexts cost is told anew.
    if (!std::ranges::equal(made->second, budgets, {}, &enforce::Budget::device,
                            &enforce::Budget::device)) {
      told_.erase(lease);
    }
    set(lease, budgets);
  } else if (when == When::kSoon) {
    new_[lease] = budgets;
  } else {
    new_.erase(lease);
    make(lease, budgets);
  }
}

// A file that an earlier daemon made may say anything: so it is told once in any case.
void BudgetFiles::pause(Handle lease, enforce::Paused paused) {
  if (!made_.contains(lease)) return;
  const auto known = paused_.find(lease);
  if (known != paused_.end() && known->second == paused) return;
  if (const Status told = files_.pause(lease, paused); !told.ok()) {
    warn_("the programs of a lease are not told that it is paused: " + told.error().message);
  }
  paused_[lease] = paused;
}

void BudgetFiles::catch_up() {
  for (const auto& [lease, budgets] : std::exchange(new_, {})) make(lease, budgets);
  while (old_.size() > kOldMax) remove_oldest();
}

void BudgetFiles::make(Handle lease, const Budgets& budgets) {
  // Offered again: nothing of the earlier offer may be left.
  if (std::erase(old_, lease) > 0) files_.remove(lease);
  set(lease, budgets);
  tidy_at_ = clock_.now() + kQuietFor;
}

// One at a time: whoever asks meanwhile does not wait for all of them.
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
void BudgetFiles::set(Handle lease, const Budgets& budgets) {
  Budgets wanted = budgets;
  for (enforce::Budget& budget : wanted) budget.context = context_cost(budget.device);
  if (const Status made = files_.set(lease, wanted); !made.ok()) {
    warn_("a lease is not held to its budget: " + made.error().message);
  }
  made_[lease] = budgets;
}

// Of a process in another PID namespace nothing is known: it counts.
bool BudgetFiles::lives(const enforce::Use::Slot& slot) const {
  return !is_known(slot) || is_alive_(slot.process);
}

// What is left in the slot of a dead process is nobody's charge; the driver may count it still.
std::vector<BudgetFiles::Account> BudgetFiles::read(Handle lease) const {
  std::vector<Account> accounts;
  const Result<enforce::Use> use = files_.read(lease);
  if (!use.ok()) return accounts;
  for (const enforce::Use::Part& part : use->parts) {
    Account& account = accounts.emplace_back(Account{.peak = part.peak, .refused = part.refused});
    for (const enforce::Use::Slot& slot : part.slots) {
      account.changes += slot.changes;
      const bool counts = slot.charged > Bytes{} || slot.wanted > Bytes{};
      if (!counts || !lives(slot)) continue;
      account.charged += slot.charged;
      if (slot.context > Bytes{} && is_known(slot)) account.contexts.push_back(slot);
      account.wanted += slot.wanted;
    }
  }
  return accounts;
}

void BudgetFiles::before_question() {
  before_.clear();
  looks_.clear();
  read_all_ = false;
  const Instant now = clock_.now();
  // While somebody waits for memory to come free the driver is asked a hundred times a second.
  if (now < read_at_ + kReadEvery) return;
  read_at_ = now;
  read_all_ = true;
  for (const auto& [lease, budgets] : made_) before_.emplace(lease, read(lease));
}

std::vector<ChargeSample> BudgetFiles::charges(const std::vector<Handle>& ended) {
  for (const Handle lease : ended) before_.try_emplace(lease);
  std::vector<ChargeSample> charges;
  for (const auto& [lease, before] : std::exchange(before_, {})) {
    const auto made = made_.find(lease);
    if (made == made_.end()) continue;
    const std::vector<Account> accounts = read(lease);
    if (accounts.size() != made->second.size()) continue;
    for (std::size_t i = 0; i < accounts.size(); ++i) {
      const Account& account = accounts[i];
      const DeviceId device = made->second[i].device;
      look_at_contexts(lease, device, i < before.size() ? &before[i] : nullptr, account);
      charges.push_back({.lease = lease,
                         .device = device,
                         .charged = account.charged,
                         .peak = account.peak,
                         .wanted = account.wanted,
                         .refused = account.refused,
                         .steady = i < before.size() && before[i].changes == account.changes &&
                                   before[i].charged == account.charged,
                         .excess = excess_of(lease, device, account)});
    }
  }
  return charges;
}

void BudgetFiles::look_at_contexts(Handle lease, DeviceId device, const Account* before,
                                   const Account& account) {
  for (const enforce::Use::Slot& slot : account.contexts) {
    const bool steady =
        before != nullptr && std::ranges::find(before->contexts, slot) != before->contexts.end();
    looks_.push_back({.lease = lease,
                      .device = device,
                      .process = slot.process,
                      .context = slot.context,
                      .beside = saturating_sub(slot.charged, slot.context),
                      .changes = slot.changes,
                      .exact = slot.exact,
                      .steady = steady});
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

void BudgetFiles::learn(const Sample& sample) {
  if (!std::exchange(read_all_, false)) return;
  costs_.look(sample, std::exchange(looks_, {}));
  keep_costs();
  for (const auto& [lease, budgets] : made_) {
    Costs costs = told(lease, budgets.size());
    for (std::size_t i = 0; i < budgets.size(); ++i) {
      const DeviceId device = budgets[i].device;
      if (const std::optional<Bytes> cost = costs_.of(device)) costs[i].first = cost;
      if (costs_.most(lease, device) != costs[i].most) costs[i].most = {};
    }
    tell_contexts(lease, std::move(costs));
  }
}

// First what is used, then what may be given back: in between nobody is allowed more.
void BudgetFiles::set_unaccounted(Handle lease, const std::vector<Bytes>& unaccounted,
                                  const std::vector<bool>& may_give_back) {
  if (const Status set = files_.set_unaccounted(lease, unaccounted); !set.ok()) {
    warn_("a lease is not held to its budget: " + set.error().message);
  }
  const auto made = made_.find(lease);
  if (made == made_.end() || made->second.size() != may_give_back.size()) return;
  Costs costs = told(lease, may_give_back.size());
  for (std::size_t i = 0; i < may_give_back.size(); ++i) {
    const std::optional<Bytes> most = costs_.most(lease, made->second[i].device);
    costs[i].most = may_give_back[i] ? most.value_or(Bytes{}) : Bytes{};
  }
  tell_contexts(lease, std::move(costs));
}

void BudgetFiles::tell_contexts(Handle lease, Costs costs) {
  const auto told = told_.find(lease);
  if (told != told_.end() && told->second == costs) return;
  if (const Status set = files_.set_contexts(lease, costs); !set.ok()) {
    warn_("a lease is not told what contexts cost: " + set.error().message);
  }
  told_[lease] = std::move(costs);
}

BudgetFiles::Costs BudgetFiles::told(Handle lease, std::size_t devices) const {
  const auto told = told_.find(lease);
  return told == told_.end() ? Costs(devices) : told->second;
}

}  // namespace berth::server
