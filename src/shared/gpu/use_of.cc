// SPDX-License-Identifier: Apache-2.0
#include "gpu/use_of.h"

#include <algorithm>
#include <memory>
#include <set>

#include "base/result.h"
#include "gpu/nvml.h"

namespace berth::gpu {
namespace {

std::optional<DeviceUse> use_on(const Nvml& nvml, std::uint32_t index,
                                std::span<const std::int32_t> pids, std::set<std::int32_t>& seen) {
  const NvmlAnswer<nvml::Device> device = nvml.device(index);
  if (!device) return std::nullopt;
  const NvmlAnswer<std::string> uuid = nvml.uuid(device.value);
  const NvmlAnswer<std::vector<ProcessFigure>> processes = nvml.processes(device.value);
  if (!uuid || !processes) return std::nullopt;
  const std::optional<DeviceId> id = parse_device_id(uuid.value);
  if (!id) return std::nullopt;
  DeviceUse use{.device = *id, .used = {}};
  for (const ProcessFigure& figure : processes.value) {
    if (std::ranges::find(pids, figure.pid) == pids.end()) continue;
    if (!figure.used) return std::nullopt;
    use.used += *figure.used;
    seen.insert(figure.pid);
  }
  return use;
}

}  // namespace

std::optional<std::vector<DeviceUse>> use_of(std::span<const std::int32_t> pids,
                                             const std::string& library) {
  const Result<std::unique_ptr<Nvml>> nvml = Nvml::load(library);
  if (!nvml.ok()) return std::nullopt;
  const NvmlAnswer<std::uint32_t> count = (*nvml)->count();
  if (!count) return std::nullopt;
  std::vector<DeviceUse> uses;
  std::set<std::int32_t> seen;
  for (std::uint32_t index = 0; index < count.value; ++index) {
    const std::optional<DeviceUse> use = use_on(**nvml, index, pids, seen);
    if (!use) return std::nullopt;
    if (use->used > Bytes{}) uses.push_back(*use);
  }
  // In a container the driver may number processes as it pleases, and list none of these.
  if (seen.size() < pids.size()) return std::nullopt;
  return uses;
}

}  // namespace berth::gpu
