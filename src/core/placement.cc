// SPDX-License-Identifier: Apache-2.0
#include "core/placement.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace berth::core {
namespace {

// Smaller is better; ties go to the lower PCI index.
Bytes preference(const Account& account, const Request& request) {
  return request.share == Share::kExclusive ? account.external : account.grantable();
}

std::vector<Part> parts_of(std::vector<const Account*> chosen, const Request& request) {
  std::ranges::sort(chosen, {}, [](const Account* a) { return std::pair(a->index, a->id); });
  std::vector<Part> parts;
  parts.reserve(chosen.size());
  for (const Account* account : chosen) {
    const bool whole = request.share == Share::kExclusive;
    parts.push_back({account->id, whole ? account->grantable() : request.vram});
  }
  return parts;
}

}  // namespace

std::optional<std::vector<Part>> place(const Request& request, const Ledger& ledger,
                                       const MayUse& may_use) {
  const std::size_t count = request.devices.empty() ? request.device_count : request.devices.size();
  const bool one_model = count > 1 && request.devices.empty() && !request.mixed;
  std::map<std::string, std::vector<const Account*>> groups;  // By model, or all in one.
  for (const Account& account : ledger.accounts()) {
    if (!is_eligible(account, request) || !may_use(account)) continue;
    groups[one_model ? account.model : std::string()].push_back(&account);
  }
  std::optional<std::vector<const Account*>> best;
  Bytes best_sum;
  for (auto& [model, fitting] : groups) {
    if (fitting.size() < count) continue;
    std::ranges::stable_sort(fitting, {},
                             [&](const Account* a) { return preference(*a, request); });
    fitting.resize(count);
    Bytes sum;
    for (const Account* account : fitting) sum += preference(*account, request);
    if (!best || sum < best_sum) {
      best = fitting;
      best_sum = sum;
    }
  }
  if (!best) return std::nullopt;
  return parts_of(std::move(*best), request);
}

}  // namespace berth::core
