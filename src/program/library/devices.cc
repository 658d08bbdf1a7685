// SPDX-License-Identifier: Apache-2.0
#include "library/devices.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/number.h"
#include "os/processes.h"

namespace berth::library {
namespace {

constexpr const char* kLibrary = "libnvidia-ml.so.1";
// The inode of the PID namespace that the kernel starts with; a driver tells pids as seen there.
constexpr std::uint64_t kFirstPidNamespace = 0xeffffffc;

std::vector<SeenDevice> all_devices(const gpu::Nvml& nvml) {
  std::vector<SeenDevice> all;
  const auto count = nvml.count();
  for (std::uint32_t i = 0; count && i < count.value; ++i) {
    SeenDevice device{.driver_index = static_cast<std::int32_t>(i)};
    if (const auto handle = nvml.device(i)) {
      device.handle = handle.value;
      device.uuid = nvml.uuid(handle.value).value;
      device.id = parse_device_id(device.uuid);
      device.name = nvml.name(handle.value).value;
      if (const auto memory = nvml.memory(handle.value)) device.total = memory.value.total;
    }
    all.push_back(std::move(device));
  }
  return all;
}

std::optional<SeenDevice> named(const std::vector<SeenDevice>& all, std::string_view name) {
  if (const auto index = parse_number<std::size_t>(name)) {
    return *index < all.size() ? std::optional(all[*index]) : std::nullopt;
  }
  const auto begins = [name](const SeenDevice& device) {
    return !name.empty() && device.uuid.starts_with(name);
  };
  const auto found = std::ranges::find_if(all, begins);
  return found == all.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::vector<SeenDevice> visible_devices(const std::vector<SeenDevice>& all,
                                        const std::optional<std::string>& variable) {
  if (!variable) return all;
  std::vector<SeenDevice> visible;
  std::string_view rest = *variable;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const auto device = named(all, rest.substr(0, comma));
    if (!device) break;
    visible.push_back(*device);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return visible;
}

Devices::Devices(std::unique_ptr<gpu::Nvml> nvml, std::vector<SeenDevice> seen, bool simulated)
    : nvml_(std::move(nvml)),
      seen_(std::move(seen)),
      simulated_(simulated),
      pids_are_ours_(simulated || os::own_pid_namespace() == kFirstPidNamespace) {}

Result<Devices> Devices::load() {
  TRY(nvml, gpu::Nvml::load(kLibrary));
  const bool simulated = nvml->simulated_world().has_value();
  const char* wanted = ::getenv("BERTH_SIM");
  if (wanted != nullptr && *wanted != '\0' && !simulated) {
    return Error{Errc::kUnavailable,
                 "BERTH_SIM is set, and the driver that is found is a real one: its figures are "
                 "not looked at (LD_LIBRARY_PATH leads to the simulated one)"};
  }
  const char* visible = ::getenv("CUDA_VISIBLE_DEVICES");
  std::vector<SeenDevice> seen = visible_devices(
      all_devices(*nvml), visible == nullptr ? std::nullopt : std::optional<std::string>(visible));
  return Devices(std::move(nvml), std::move(seen), simulated);
}

DeviceMemory Devices::measure(std::size_t device) const {
  DeviceMemory memory;
  if (device >= seen_.size() || seen_[device].handle == nullptr) return memory;
  const nvml::Device handle = seen_[device].handle;
  if (const auto figures = nvml_->memory(handle)) {
    memory.total = figures.value.total;
    memory.used = figures.value.used;
    memory.free = saturating_sub(saturating_sub(figures.value.total, figures.value.used),
                                 figures.value.reserved.value_or(Bytes{}));
  }
  const auto processes = nvml_->processes(handle);
  if (!processes) return memory;
  const auto own = std::ranges::find(processes.value, ::getpid(), &gpu::ProcessFigure::pid);
  if (own != processes.value.end()) {
    // In another PID namespace that number may be anybody's.
    if (pids_are_ours_) memory.own = own->used;
  } else if (pids_are_ours_) {
    memory.own = Bytes{0};
  }
  return memory;
}

}  // namespace berth::library
