// SPDX-License-Identifier: Apache-2.0
#include "server/context_costs.h"

#include <algorithm>

// Note [How a context is measured]
//
// A process that has charged exactly what it has allocated, and was found twice with the same
// account and the same figure of the driver, has the rest for its contexts, and for what the guard
// does not see: code, local memory. That is learnt for the model of the device, until the driver
// is another one. Of the last few processes the least one counts: whatever else a process has can
// only make it look dearer, and is found as drift. Of a lease's own contexts the dearest one
// counts: what was charged for one of them beyond that is certainly too much.

namespace berth::server {
namespace {

using Place = std::pair<DeviceId, Process>;

std::map<Place, Bytes> figures_of(const Sample& sample) {
  std::map<Place, Bytes> figures;
  for (const DeviceSample& device : sample.devices) {
    if (device.lost || device.asleep || !device.processes) continue;
    for (const ProcessSample& process : *device.processes) {
      if (process.alive && process.used) figures[{device.id, process.process}] = *process.used;
    }
  }
  return figures;
}

Bytes in_pages(Bytes bytes) {
  const std::uint64_t page = ContextCosts::kPage.value;
  return {(bytes.value + page - 1) / page * page};
}

}  // namespace

void ContextCosts::look(const Sample& sample, const std::vector<ContextLook>& looks) {
  if (!sample.trouble.empty()) return;
  if (driver_ != sample.driver_version) {
    driver_ = sample.driver_version;
    costs_.clear();
    known_.clear();
  }
  for (const DeviceSample& device : sample.devices) {
    if (!device.lost && !device.model.empty()) models_[device.id] = device.model;
  }
  const std::map<Place, Bytes> figures = figures_of(sample);
  std::map<Key, Known> known;
  for (const ContextLook& look : looks) {
    const Key key{look.lease, look.device, look.process};
    Known now{.look = look, .measured = std::nullopt, .cost = std::nullopt};
    if (const auto told = figures.find({look.device, look.process}); told != figures.end())
      now.measured = told->second;
    if (const auto before = known_.find(key); before != known_.end()) {
      now.cost = before->second.cost;
      const bool twice = look.steady && now.measured && before->second.look == look &&
                         before->second.measured == now.measured;
      if (twice && look.exact && *now.measured > look.beside) {
        const Bytes cost = in_pages(saturating_sub(*now.measured, look.beside));
        if (cost <= kMost) {
          now.cost = cost;
          learn(models_[look.device], look.process, cost);
        }
      }
    }
    known.emplace(key, now);
  }
  known_ = std::move(known);
}

void ContextCosts::learn(const std::string& model, Process process, Bytes cost) {
  std::deque<std::pair<Process, Bytes>>& costs = costs_[model];
  const auto known = std::ranges::find(costs, process, &std::pair<Process, Bytes>::first);
  if (known != costs.end()) {
    known->second = std::min(known->second, cost);
    return;
  }
  costs.emplace_back(process, cost);
  if (costs.size() > kRemembered) costs.pop_front();
}

std::optional<Bytes> ContextCosts::of(DeviceId device) const {
  const auto model = models_.find(device);
  const auto costs = model == models_.end() ? costs_.end() : costs_.find(model->second);
  if (costs == costs_.end() || costs->second.empty()) return std::nullopt;
  return std::ranges::min(costs->second, {}, &std::pair<Process, Bytes>::second).second;
}

std::optional<Bytes> ContextCosts::most(Handle lease, DeviceId device) const {
  std::optional<Bytes> most;
  for (auto at = known_.lower_bound({lease, device, Process{.pid = 0, .start_ticks = 0}});
       at != known_.end() && at->second.look.lease == lease && at->second.look.device == device;
       ++at) {
    if (!at->second.cost) return std::nullopt;
    most = std::max(most, at->second.cost);
  }
  return most;
}

}  // namespace berth::server
