// SPDX-License-Identifier: Apache-2.0
#include "core/placement.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <tuple>
#include <utility>

namespace berth::core {
namespace {

// Smaller is better; ties go to the lower PCI index.
Bytes preference(const Account& account, const Request& request) {
  return request.share == Share::kExclusive ? account.unmanaged : account.grantable();
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

std::size_t device_count(const Request& request) {
  return request.devices.empty() ? request.device_count : request.devices.size();
}

bool wants_one_model(const Request& request) {
  return request.devices.empty() && request.device_count > 1 && !request.mixed;
}

std::optional<std::vector<Part>> place(const Request& request, std::vector<const Account*> usable) {
  const std::size_t count = device_count(request);
  if (usable.size() < count) return std::nullopt;
  const bool one_model = wants_one_model(request);
  const auto prefer = [&](const Account* a) { return preference(*a, request); };
  const auto rank = [&](const Account* a) { return std::tuple(prefer(a), a->index, a->id); };
  if (one_model) std::ranges::sort(usable, {}, &Account::model);
  std::span<const Account*> best;
  Bytes best_sum;
  for (auto first = usable.begin(); first != usable.end();) {
    const auto last =
        one_model ? std::find_if(first, usable.end(),
                                 [&](const Account* a) { return a->model != (*first)->model; })
                  : usable.end();
    const std::span fitting(first, last);
    first = last;
    if (fitting.size() < count) continue;
    std::ranges::sort(fitting, {}, rank);
    Bytes sum;
    for (const Account* account : fitting.first(count)) sum += prefer(account);
    if (best.empty() || sum < best_sum) {
      best = fitting.first(count);
      best_sum = sum;
    }
  }
  if (best.empty()) return std::nullopt;
  return parts_of({best.begin(), best.end()}, request);
}

}  // namespace berth::core
