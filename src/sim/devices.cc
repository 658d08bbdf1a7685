// SPDX-License-Identifier: Apache-2.0
#include "sim/devices.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "core/limits.h"

namespace berth::sim {

Bytes Device::used() const {
  Bytes sum;
  for (const Use& use : uses) sum += use.bytes;
  return sum;
}

Bytes Device::used_by(Process process) const {
  const auto use = std::ranges::find(uses, process, &Use::process);
  return use == uses.end() ? Bytes{} : use->bytes;
}

Bytes Device::used_by(Handle lease) const {
  Bytes sum;
  for (const Use& use : uses) {
    if (use.lease == lease) sum += use.bytes;
  }
  return sum;
}

Devices::Devices(SimContext& context, Processes& processes, std::vector<Device> devices,
                 Teardown teardown)
    : context_(context), processes_(processes), devices_(std::move(devices)), teardown_(teardown) {
  processes_.on_every_end([this](Process process) { process_ended(process); });
}

std::optional<std::size_t> Devices::index_of(DeviceId id) const {
  const auto device = std::ranges::find(devices_, id, &Device::id);
  if (device == devices_.end()) return std::nullopt;
  return static_cast<std::size_t>(device - devices_.begin());
}

bool Devices::lists(Process process) const {
  return std::ranges::any_of(devices_, [&](const Device& device) {
    return std::ranges::find(device.uses, process, &Use::process) != device.uses.end();
  });
}

bool Devices::allocate(Process process, std::size_t index, Bytes bytes) {
  Device& device = devices_[index];
  const Processes::Birth* birth = processes_.find(process);
  if (birth == nullptr || device.lost) return false;
  if (saturating_sub(device.usable(), device.used()) < bytes) return false;
  auto use = std::ranges::find(device.uses, process, &Use::process);
  if (use == device.uses.end()) {
    use = device.uses.insert(
        use, {.process = process, .user = birth->user, .lease = birth->lease, .bytes = {}});
  }
  use->bytes += bytes;
  if (const std::optional<Handle> lease = use->lease) ++changes_[*lease];
  inside_.insert(birth->outer.begin(), birth->outer.end());
  context_.note("process {} takes {} of device {}", process.pid, bytes.value, index);
  return true;
}

void Devices::free(Process process, std::size_t index, Bytes bytes) {
  for (Use& use : devices_[index].uses) {
    if (use.process != process) continue;
    use.bytes = saturating_sub(use.bytes, bytes);
    if (use.lease) ++changes_[*use.lease];
  }
  context_.note("process {} frees {} of device {}", process.pid, bytes.value, index);
}

void Devices::process_ended(Process process) {
  std::erase_if(away_, [&](const Away& away) { return away.use.process == process; });
  bool listed = false;
  for (std::size_t index = 0; index < devices_.size(); ++index) {
    const auto use = std::ranges::find(devices_[index].uses, process, &Use::process);
    if (use == devices_[index].uses.end()) continue;
    listed = true;
    use->ended = true;
    Duration delay = context_.random.spread({10'000}, milliseconds(1));
    if (context_.random.chance(teardown_.slow_per_mille)) {
      context_.record_fault(Fault::kSlowTeardown);
      delay = context_.random.spread(milliseconds(5), milliseconds(500));
    } else if (context_.random.chance(teardown_.leak_per_mille)) {
      context_.record_fault(Fault::kLeak);
      delay = context_.random.between(limits::kReleasingMax + seconds(1),
                                      limits::kReleasingMax + seconds(9));
    }
    context_.clock.after(delay, [this, process, index] { torn_down(process, index); });
  }
  if (!listed) processes_.reusable(process.pid);
}

void Devices::torn_down(Process process, std::size_t index) {
  const auto gone = [&](const Use& use) { return use.ended && use.process == process; };
  const Instant now = context_.clock.instant();
  std::erase_if(gone_, [&](const Gone& one) { return now - one.at > seconds(10); });
  for (const Use& use : devices_[index].uses) {
    if (gone(use)) gone_.push_back({now, use});
  }
  if (std::erase_if(devices_[index].uses, gone) == 0) return;
  context_.note("device {} is rid of process {}", index, process.pid);
  if (!lists(process)) processes_.reusable(process.pid);
}

std::vector<Use> Devices::of_the_dead(Instant since) const {
  std::vector<Use> dead;
  for (const Device& device : devices_) {
    std::ranges::copy_if(device.uses, std::back_inserter(dead), &Use::ended);
  }
  for (const Gone& one : gone_) {
    if (one.at >= since) dead.push_back(one.use);
  }
  return dead;
}

bool Devices::has_memory(Process process) const {
  return std::ranges::any_of(devices_, [&](const Device& device) {
    return !device.lost && device.used_by(process) > Bytes{};
  });
}

std::optional<std::vector<DeviceUse>> Devices::uses_of(std::span<const Process> processes) const {
  std::vector<DeviceUse> uses;
  for (const Device& device : devices_) {
    if (device.lost) return std::nullopt;
    DeviceUse use{.device = device.id, .used = {}};
    for (const Process& process : processes) use.used += device.used_by(process);
    if (use.used > Bytes{}) uses.push_back(use);
  }
  return uses;
}

void Devices::move_out(Process process) {
  for (std::size_t index = 0; index < devices_.size(); ++index) {
    std::vector<Use>& uses = devices_[index].uses;
    const auto use = std::ranges::find(uses, process, &Use::process);
    if (use == uses.end() || use->ended || devices_[index].lost) continue;
    context_.note("{} of process {} leave device {}", use->bytes.value, process.pid, index);
    away_.push_back({index, *use});
    uses.erase(use);
  }
}

bool Devices::is_swapped_out(Process process) const {
  return std::ranges::any_of(away_, [&](const Away& away) { return away.use.process == process; });
}

Bytes Devices::away_of(Handle lease, std::size_t index) const {
  Bytes sum;
  for (const Away& away : away_) {
    if (away.index == index && away.use.lease == lease) sum += away.use.bytes;
  }
  return sum;
}

std::uint64_t Devices::changes_of(Handle lease) const {
  const auto found = changes_.find(lease);
  return found == changes_.end() ? 0 : found->second;
}

std::size_t Devices::place_after(std::size_t index, std::span<const DevicePair> pairs) const {
  const auto pair = std::ranges::find(pairs, devices_[index].id, &DevicePair::from);
  return pair == pairs.end() ? index : index_of(pair->to).value_or(index);
}

bool Devices::are_named(Process process, std::span<const DevicePair> pairs) const {
  return std::ranges::all_of(away_, [&](const Away& away) {
    return away.use.process != process ||
           std::ranges::find(pairs, devices_[away.index].id, &DevicePair::from) != pairs.end();
  });
}

std::optional<std::size_t> Devices::move_back(Process process, std::span<const DevicePair> pairs) {
  for (auto away = away_.begin(); away != away_.end();) {
    if (away->use.process != process) {
      ++away;
      continue;
    }
    const std::size_t index = place_after(away->index, pairs);
    Device& device = devices_[index];
    const Bytes room = saturating_sub(device.usable(), device.used());
    if (device.lost || room < away->use.bytes) return index;
    context_.note("{} of process {} come back to device {}", away->use.bytes.value, process.pid,
                  index);
    const auto rest = std::ranges::find(device.uses, process, &Use::process);
    if (rest == device.uses.end()) {
      device.uses.push_back(away->use);
    } else {
      rest->bytes += away->use.bytes;
    }
    away = away_.erase(away);
  }
  return std::nullopt;
}

void Devices::lose(std::size_t index) {
  context_.note("device {} is lost", index);
  devices_[index].lost = true;
}

void Devices::find_again(std::size_t index) {
  context_.note("device {} is back", index);
  devices_[index].lost = false;
  devices_[index].uses.clear();
}

void Devices::power_cut() {
  gone_.clear();
  away_.clear();
  for (Device& device : devices_) {
    device.lost = false;
    device.uses.clear();
  }
}

void Devices::calm() {
  teardown_ = {};
  for (std::size_t index = 0; index < devices_.size(); ++index) {
    if (devices_[index].lost) find_again(index);
    std::erase_if(devices_[index].uses, [](const Use& use) { return use.ended; });
  }
}

Sample Devices::look() const {
  Sample sample;
  sample.asked_at = context_.clock.instant();
  sample.answered_at = sample.asked_at;
  sample.simulated = true;
  sample.driver_version = "sim";
  for (std::uint32_t index = 0; index < devices_.size(); ++index) {
    const Device& device = devices_[index];
    DeviceSample seen{.id = device.id,
                      .index = index,
                      .model = device.model,
                      .pci_bus = "",
                      .lost = device.lost,
                      .capacity = device.capacity};
    if (device.lost) {
      seen.trouble = "lost";
      sample.devices.push_back(std::move(seen));
      continue;
    }
    seen.used = device.used();
    seen.figures = device.figures;
    seen.processes.emplace();
    for (const Use& use : device.uses) {
      ProcessSample process{.process = use.process, .used = use.bytes, .user = use.user};
      const Processes::Birth* birth = processes_.find(use.process);
      process.alive = birth != nullptr;
      if (birth != nullptr) {
        process.env_lease = birth->lease;
        process.ancestors = processes_.ancestors(use.process);
      }
      seen.processes->push_back(std::move(process));
    }
    sample.devices.push_back(std::move(seen));
  }
  return sample;
}

}  // namespace berth::sim
