// SPDX-License-Identifier: Apache-2.0
#include "core/site.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "core/placement.h"

namespace berth::core {
namespace {

using Group = std::vector<const Account*>;

// Devices of which the request could be given several: of one model, where it wants that.
std::map<std::string, Group> groups_of(const Ledger& ledger, const Request& request) {
  std::map<std::string, Group> groups;
  const bool one_model = wants_one_model(request);
  for (const Account& account : ledger.accounts()) {
    if (!account.seen || !is_eligible(account, request)) continue;
    groups[one_model ? account.model : std::string()].push_back(&account);
  }
  return groups;
}

// The n-th largest figure; 0 where there are fewer.
Bytes nth_largest(std::vector<Bytes> figures, std::size_t n) {
  if (n == 0 || figures.size() < n) return {};
  std::ranges::sort(figures, std::greater{});
  return figures[n - 1];
}

}  // namespace

Shortage shortage_on(const Account& account, const Request& request) {
  const bool whole = request.share == Share::kExclusive;
  return {.device = account.id,
          .index = account.index,
          .capacity = account.capacity,
          .held_back = account.held_back(),
          .charged = account.charged,
          .grantable = account.grantable(),
          .missing = whole ? account.charged : saturating_sub(request.vram, account.grantable()),
          .unmanaged = account.unmanaged};
}

Site site_of(const Ledger& ledger, const Request& request, Bytes exclusive_unmanaged_max) {
  const std::size_t wanted = device_count(request);
  const auto fits = [&](const Account* account) {
    return fits_now(*account, request, exclusive_unmanaged_max);
  };
  const auto rank = [&](const Account* account) {
    return std::tuple(!fits(account), shortage_on(*account, request).missing);
  };
  Site best{.wanted = static_cast<std::uint32_t>(wanted)};
  std::tuple<bool, std::size_t, Bytes> best_rank;  // More is better, but for the last.
  for (auto& [model, group] : groups_of(ledger, request)) {
    std::erase_if(group, [&](const Account* account) { return !fits_ever(*account, request); });
    std::ranges::stable_sort(group, {}, rank);
    const auto fitting = static_cast<std::size_t>(std::ranges::count_if(group, fits));
    Bytes missing;
    for (std::size_t i = 0; i < std::min(wanted, group.size()); ++i) {
      missing += shortage_on(*group[i], request).missing;
    }
    const std::tuple its(group.size() >= wanted, std::min(fitting, wanted), Bytes{~missing.value});
    if (!best.accounts.empty() && its <= best_rank) continue;
    best_rank = its;
    best.fitting = static_cast<std::uint32_t>(fitting);
    best.accounts = std::move(group);
  }
  return best;
}

Bytes most_taken(const Ledger& ledger, const Request& request) {
  const std::size_t count = device_count(request);
  std::vector<Bytes> figures;
  if (request.share != Share::kExclusive) {
    figures.assign(count, request.vram);
  } else {
    for (const Account& account : ledger.accounts()) {
      if (!account.seen || !is_eligible(account, request)) continue;
      figures.push_back(account.grantable_when_empty());
    }
    std::ranges::sort(figures, std::greater{});
  }
  Bytes sum;
  for (std::size_t i = 0; i < std::min(count, figures.size()); ++i) sum += figures[i];
  return sum;
}

Bytes most_grantable(const Ledger& ledger, const Request& request) {
  Bytes most;
  for (const auto& [model, group] : groups_of(ledger, request)) {
    std::vector<Bytes> figures;
    for (const Account* account : group) figures.push_back(account->grantable());
    most = std::max(most, nth_largest(figures, device_count(request)));
  }
  return most;
}

std::optional<Bytes> too_small_for(const Ledger& ledger, const Request& request) {
  const std::size_t wanted = device_count(request);
  bool enough = false;
  Bytes most;
  for (const auto& [model, group] : groups_of(ledger, request)) {
    if (group.size() < wanted) continue;
    enough = true;
    std::vector<Bytes> figures;
    for (const Account* account : group) figures.push_back(account->grantable_when_empty());
    most = std::max(most, nth_largest(figures, wanted));
  }
  const bool whole = request.share == Share::kExclusive;
  const bool is_small = whole ? most == Bytes{} : request.vram > most;
  return enough && is_small ? std::optional(most) : std::nullopt;
}

}  // namespace berth::core
