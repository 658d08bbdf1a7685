// SPDX-License-Identifier: Apache-2.0
#include "server/views.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/checked.h"
#include "wire/alerts.h"
#include "wire/audit.h"

namespace berth::server {
namespace {

struct Split {
  std::vector<LeaseView> leases;  // Held and releasing, by id.
  std::vector<LeaseView> queue;   // Waiting, next first.
};
Split split(const core::Coordinator& coordinator, core::Now now) {
  Split split;
  std::map<LeaseId, LeaseView> waiting;
  for (LeaseView& lease : coordinator.leases(now)) {
    if (lease.state == LeaseState::kWaiting) {
      waiting.emplace(lease.id, std::move(lease));
    } else {
      split.leases.push_back(std::move(lease));
    }
  }
  for (const LeaseId id : coordinator.queue(now)) {
    const auto found = waiting.find(id);
    if (found != waiting.end()) split.queue.push_back(std::move(found->second));
  }
  return split;
}

std::vector<DeviceView> devices_for(UserId user, const core::Coordinator& coordinator,
                                    core::Now now) {
  std::vector<DeviceView> devices = coordinator.devices(now);
  for (DeviceView& device : devices) device.context = coordinator.context_cost(user, device.id);
  return devices;
}

}  // namespace

wire::StatusAnswer status_answer(const core::Coordinator& coordinator, core::Now now,
                                 bool simulated, UserId user) {
  Split both = split(coordinator, now);
  return {.time = now.wall,
          .simulated = simulated,
          .trouble = coordinator.trouble(),
          .devices = devices_for(user, coordinator, now),
          .leases = std::move(both.leases),
          .queue = std::move(both.queue)};
}

std::string status_json(const core::Coordinator& coordinator, core::Now now, bool simulated,
                        const wire::Viewer& viewer) {
  return wire::encode_status(status_answer(coordinator, now, simulated, viewer.user), viewer);
}

std::string devices_json(const core::Coordinator& coordinator, core::Now now, bool simulated,
                         const wire::Viewer& viewer) {
  return wire::encode_devices({.time = now.wall,
                               .simulated = simulated,
                               .items = devices_for(viewer.user, coordinator, now)},
                              viewer.names);
}

std::string queue_json(const core::Coordinator& coordinator, core::Now now,
                       const wire::Viewer& viewer) {
  return wire::encode_queue({now.wall, split(coordinator, now).queue}, viewer);
}

std::string leases_json(const core::Coordinator& coordinator, core::Now now, Which which,
                        const wire::Viewer& viewer) {
  std::vector<LeaseView> items = coordinator.leases(now);
  if (which.ended) {
    std::vector<LeaseView> ended = coordinator.ended(now);
    std::ranges::move(ended, std::back_inserter(items));
    std::ranges::sort(items, {}, &LeaseView::id);
  }
  if (which.before) {
    const auto from = std::ranges::lower_bound(items, LeaseId{*which.before}, {}, &LeaseView::id);
    items.erase(from, items.end());
  }
  std::optional<LeaseId> next;
  if (which.limit && items.size() > *which.limit) {
    items.erase(items.begin(), items.end() - static_cast<std::ptrdiff_t>(*which.limit));
    next = items.front().id;
  }
  return wire::encode_leases({now.wall, std::move(items), next}, viewer);
}

std::string item_json(const Item& item, bool simulated, const wire::Viewer& viewer) {
  return std::visit(
      [&](const auto& body) {
        using T = std::decay_t<decltype(body)>;
        if constexpr (std::is_same_v<T, LeaseView>) {
          return wire::encode_lease(
              body, viewer, {.refusal = item.refusal.empty() ? nullptr : &item.refusal.front()});
        } else if constexpr (std::is_same_v<T, WhyView>) {
          return wire::encode_why(body, viewer.names);
        } else if constexpr (std::is_same_v<T, UnmanagedNews>) {
          return wire::encode_unmanaged(body, viewer.names);
        } else if constexpr (std::is_same_v<T, Alert>) {
          return wire::encode_alert(body);
        } else if constexpr (std::is_same_v<T, AuditEntry>) {
          return wire::encode_audit_entry(body, viewer.names);
        } else if constexpr (std::is_same_v<T, DeviceView>) {
          return wire::encode_device(body, simulated, viewer.names);
        } else {
          return wire::encode_fit(body, viewer.names);
        }
      },
      item.body);
}

wire::Environment command_environment(const LeaseView& lease, const EnvironmentFacts& facts) {
  bool by_uuid = facts.devices_by_uuid;
  std::optional<Bytes> budget;
  for (const LeasePart& part : lease.parts) {
    if (!part.index || part.device.mig) by_uuid = true;
    budget = budget ? std::min(*budget, part.granted) : part.granted;
  }
  std::string uuids;
  std::string visible;
  for (const LeasePart& part : lease.parts) {
    const char* comma = uuids.empty() ? "" : ",";
    uuids += comma + to_text(part.device);
    visible += comma + (by_uuid ? to_text(part.device) : std::to_string(checked(part.index)));
  }
  wire::Environment environment = {
      {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
      {"CUDA_VISIBLE_DEVICES", visible},
      {"NVIDIA_VISIBLE_DEVICES", uuids},
      {"BERTH_LEASE_ID", to_text(lease.handle)},
      {"BERTH_LEASE", std::to_string(lease.id.value)},
      {"BERTH_GPUS", uuids},
      {"BERTH_SOCKET", facts.socket},
  };
  if (budget) environment["BERTH_VRAM_BYTES"] = std::to_string(budget->value);
  if (lease.restarts > 0) environment["BERTH_RESTART"] = std::to_string(lease.restarts);
  return environment;
}

}  // namespace berth::server
