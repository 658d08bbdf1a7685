// SPDX-License-Identifier: Apache-2.0
#include "sim/accounts.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace berth::sim {

namespace {

// Of its handle, so that it draws nothing.
bool runs_under_the_guard(Handle lease) {
  return lease.low % 2 == 0;
}

}  // namespace

void Accounts::set_budgets(const LeaseView& lease, const std::vector<Part>& budgets) {
  if (budgets.empty()) {
    accounts_.erase(lease.handle);
    return;
  }
  if (!runs_under_the_guard(lease.handle)) return;
  Account& account = accounts_[lease.handle];
  account.id = lease.id;
  account.devices.clear();
  for (const Part& part : budgets) account.devices.push_back(part.device);
  if (!has_memory_away(lease.handle)) account.left = account.devices;
}

bool Accounts::has_memory_away(Handle lease) const {
  for (std::size_t index = 0; index < devices_.count(); ++index) {
    if (devices_.away_of(lease, index) > Bytes{}) return true;
  }
  return false;
}

bool Accounts::charges_all(Handle lease) const {
  const auto account = accounts_.find(lease);
  return account == accounts_.end() || !devices_.had_memory_inside(account->second.id);
}

// A program knows its devices by their places in its lease.
std::vector<Bytes> Accounts::charged(Handle lease, const Account& account) const {
  std::vector<Bytes> sums(account.devices.size());
  for (std::size_t index = 0; index < devices_.count(); ++index) {
    const Device& device = devices_.at(index);
    for (std::size_t place = 0; place < sums.size(); ++place) {
      if (account.devices[place] == device.id) sums[place] += device.used_by(lease);
      const bool left_here = place < account.left.size() && account.left[place] == device.id;
      if (left_here) sums[place] += devices_.away_of(lease, index);
    }
  }
  return sums;
}

void Accounts::question() {
  for (auto& [lease, account] : accounts_) {
    account.before = charged(lease, account);
    account.changes = devices_.changes_of(lease);
  }
}

std::vector<ChargeSample> Accounts::charges() {
  std::vector<ChargeSample> samples;
  for (auto& [lease, account] : accounts_) {
    const std::vector<Bytes> now = charged(lease, account);
    const bool is_quiet = now == account.before && account.changes == devices_.changes_of(lease);
    account.peaks.resize(now.size());
    for (std::size_t place = 0; place < now.size(); ++place) {
      account.peaks[place] = std::max(account.peaks[place], now[place]);
      samples.push_back({.lease = lease,
                         .device = account.devices[place],
                         .charged = now[place],
                         .peak = account.peaks[place],
                         .unchanged = is_quiet,
                         .excess = {}});
    }
  }
  return samples;
}

}  // namespace berth::sim
