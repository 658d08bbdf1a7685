// SPDX-License-Identifier: Apache-2.0
#include "core/ledger.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace berth::core {

void Account::disown(LeaseId lease) {
  if (const auto entry = entries.find(lease); entry != entries.end()) {
    unmanaged += entry->second.charge;
  }
}

Bytes Account::held_back() const {
  return std::max(reserve, heeded() + driver);
}

Bytes Account::grantable() const {
  if (!seen || exclusive_count > 0) return {};
  return saturating_sub(saturating_sub(capacity, held_back()), charged);
}

bool Account::overcommitted() const {
  return seen && charged + held_back() > capacity;
}

Bytes Account::grantable_when_empty() const {
  return saturating_sub(capacity, std::max(reserve, driver));
}

const Account* Ledger::find(DeviceId device) const {
  const auto found = std::ranges::find(accounts_, device, &Account::id);
  return found == accounts_.end() ? nullptr : &*found;
}

Account& Ledger::account(DeviceId device) {
  const auto found = std::ranges::find(accounts_, device, &Account::id);
  if (found != accounts_.end()) return *found;
  return accounts_.emplace_back(Account{.id = device});
}

void Ledger::sort() {
  const auto rank = [](const Account& account) {
    return std::tuple(!account.seen, account.index, account.id);
  };
  // As it mostly is already; accounts are large to move.
  if (!std::ranges::is_sorted(accounts_, {}, rank)) std::ranges::sort(accounts_, {}, rank);
}

bool Ledger::put(DeviceId device, LeaseId lease, const std::optional<Entry>& entry) {
  Account& to = account(device);
  const auto found = to.entries.find(lease);
  const Entry before = found == to.entries.end() ? Entry{} : found->second;
  if (entry && found != to.entries.end() && before == *entry) return false;
  const Entry after = entry.value_or(Entry{});
  CHECK(to.charged >= before.charge);
  CHECK(to.granted >= before.budget);
  to.charged = saturating_sub(to.charged, before.charge) + after.charge;
  to.granted = saturating_sub(to.granted, before.budget) + after.budget;
  to.exclusive_count += (after.exclusive ? 1U : 0U) - (before.exclusive ? 1U : 0U);
  if (entry) {
    to.entries[lease] = *entry;
  } else if (found != to.entries.end()) {
    to.entries.erase(found);
  }
  CHECK(!to.entries.empty() || (to.charged == Bytes{} && to.granted == Bytes{}));
  return true;
}

void Ledger::check() const {
  for (const Account& account : accounts_) {
    Bytes charged;
    Bytes granted;
    std::uint32_t exclusive_count = 0;
    for (const auto& [lease, entry] : account.entries) {
      charged += entry.charge;
      granted += entry.budget;
      exclusive_count += entry.exclusive ? 1U : 0U;
      CHECK(entry.charge >= entry.budget);
    }
    CHECK(charged == account.charged);
    CHECK(granted == account.granted);
    CHECK(exclusive_count == account.exclusive_count);
    CHECK(account.ignored <= account.unmanaged);
  }
}

RoomBeside room_for(const Account& account, LeaseId lease) {
  const auto own = account.entries.find(lease);
  if (own == account.entries.end()) {
    return {.bytes = account.grantable(), .others = account.entries.size()};
  }
  return {.bytes = account.grantable() + own->second.charge, .others = account.entries.size() - 1};
}

bool fits_now(const Account& account, const Request& request, Bytes exclusive_unmanaged_max) {
  if (request.share == Share::kExclusive) {
    return account.seen && account.entries.empty() && account.heeded() <= exclusive_unmanaged_max &&
           account.grantable() > Bytes{};
  }
  return account.seen && request.vram <= account.grantable() && account.exclusive_count == 0;
}

bool fits_ever(const Account& account, const Request& request) {
  if (request.share == Share::kExclusive) return account.grantable_when_empty() > Bytes{};
  return request.vram <= account.grantable_when_empty();
}

bool is_eligible(const Account& account, const Request& request) {
  if (request.devices.empty()) return true;
  return std::ranges::any_of(request.devices, [&](const DeviceName& name) {
    const auto* id = std::get_if<DeviceId>(&name);
    return id != nullptr ? *id == account.id
                         : account.seen && std::get<std::uint32_t>(name) == account.index;
  });
}

}  // namespace berth::core
