// SPDX-License-Identifier: Apache-2.0
#include "gpu/sampler.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "os/files.h"

namespace berth::gpu {
namespace {

constexpr int kTriesForConsistency = 3;
constexpr std::size_t kStatusMax = 64;

std::string not_answering(const std::string& what, nvml::Return result) {
  return "the driver does not tell " + what + ": " + explain(result);
}

// NVML writes 00000000:01:00.0 where /sys has 0000:01:00.0, in lower case.
std::string sysfs_name(std::string pci_bus) {
  const std::size_t colon = pci_bus.find(':');
  if (colon != std::string::npos && colon > 4) pci_bus.erase(0, colon - 4);
  std::ranges::transform(pci_bus, pci_bus.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return pci_bus;
}

template <class T>
std::optional<T> told(const NvmlAnswer<T>& answer) {
  return answer ? std::optional(answer.value) : std::nullopt;
}

Throttle throttle_of(unsigned long long reasons) {
  constexpr auto kHardware =
      nvml::kHeldByHardware | nvml::kHeldByHardwareHeat | nvml::kHeldByPowerBrake;
  if ((reasons & kHardware) != 0) return Throttle::kHardware;
  if ((reasons & nvml::kHeldByHeat) != 0) return Throttle::kThermal;
  return (reasons & nvml::kHeldByPowerCap) != 0 ? Throttle::kPower : Throttle::kNone;
}

// The simulated driver says on stderr what it makes of BERTH_SIM, and by its code only that there
// is no driver.
constexpr const char* kSimulatedHint =
    ". But this driver is simulated: write for example BERTH_SIM=2x16GiB, and see 'berth daemon "
    "logs' for what is wrong with it";

}  // namespace

Sampler::Sampler(Options options, const os::Clock& clock)
    : options_(std::move(options)), clock_(clock) {}

// What is in the way; empty if NVML is there.
std::string Sampler::load() {
  if (nvml_) return "";
  Result<std::unique_ptr<Nvml>> loaded = Nvml::load(options_.library);
  if (!loaded.ok()) return loaded.error().message + (options_.simulated ? kSimulatedHint : "");
  simulated_ = (*loaded)->simulated_world().has_value();
  if (options_.simulated && !simulated_) {
    return "BERTH_SIM is set, and the " + options_.library +
           " that was found is not the simulated one: is another directory before it in "
           "LD_LIBRARY_PATH?";
  }
  nvml_ = *std::move(loaded);
  return "";
}

void Sampler::remember(const std::vector<Identity>& known) {
  for (const Identity& device : known) {
    if (device.index >= kDevicesMax) continue;
    if (device.index >= identities_.size()) identities_.resize(device.index + 1);
    identities_[device.index] = device;
  }
}

bool Sampler::all_asleep() const {
  return !identities_.empty() && std::ranges::all_of(identities_, [&](const Identity& device) {
    return is_asleep(device.pci_bus);
  });
}

Sample Sampler::sample() {
  Sample sample{.simulated = options_.simulated};
  const Instant now = clock_.now();
  if (!nvml_ && all_asleep()) {
    for (std::uint32_t index = 0; index < identities_.size(); ++index) {
      sample.devices.push_back(sample_device(index, now));
    }
    return sample;
  }
  sample.trouble = load();
  if (!nvml_) return sample;
  sample.simulated = simulated_;
  sample.driver_version = nvml_->driver_version();
  const NvmlAnswer<std::uint32_t> count = nvml_->count();
  if (!count) {
    // Whatever it is, it may be gone with another library and another start.
    sample.trouble = not_answering("its devices", count.result);
    nvml_.reset();
    identities_.clear();
    return sample;
  }
  const std::size_t devices = std::min<std::size_t>(count.value, kDevicesMax);
  if (identities_.size() != devices) identities_.assign(devices, {});  // They have moved up.
  for (std::uint32_t index = 0; index < identities_.size(); ++index) {
    sample.devices.push_back(sample_device(index, now));
  }
  facts_.forget_unseen();
  return sample;
}

// Note [Sleeping devices]: NVML wakes a device that power management has suspended as soon as it is
// to find it, and again with each question. So it is asked about no device that sleeps, not even
// where it is. One that has never been seen is woken once: what is on a device nobody else tells.
DeviceSample Sampler::sample_device(std::uint32_t index, Instant now) {
  Identity& identity = identities_[index];
  DeviceSample sample{.index = index, .asleep = is_asleep(identity.pci_bus)};
  if (!sample.asleep) sample.trouble = look_at(index, now, sample);
  sample.lost = !sample.trouble.empty();
  sample.id = identity.id;
  sample.model = identity.model;
  sample.pci_bus = identity.pci_bus;
  return sample;
}

std::string Sampler::look_at(std::uint32_t index, Instant now, DeviceSample& sample) {
  const NvmlAnswer<nvml::Device> device = nvml_->device(index);
  if (!device) return not_answering("where the device is", device.result);
  Identity& identity = identities_[index];
  if (identity.id == DeviceId{}) {
    std::string trouble = identify(device.value, identity);
    if (!trouble.empty()) return trouble;
  }
  return measure(device.value, now, sample);
}

std::string Sampler::identify(nvml::Device device, Identity& identity) const {
  const NvmlAnswer<std::string> uuid = nvml_->uuid(device);
  if (!uuid) return not_answering("the device's UUID", uuid.result);
  const std::optional<DeviceId> id = parse_device_id(uuid.value);
  if (!id) return "the driver calls the device '" + uuid.value + "', which is no UUID";
  const NvmlAnswer<std::string> name = nvml_->name(device);
  const NvmlAnswer<std::string> pci_bus = nvml_->pci_bus(device);
  identity.id = *id;
  identity.model = name ? name.value : "";
  identity.pci_bus = pci_bus ? pci_bus.value : "";
  return "";
}

// Memory and processes come in two calls. Where an allocation fell between them, their difference
// would look like an unmanaged process's memory; so they are asked until the memory stood still.
std::string Sampler::measure(nvml::Device device, Instant now, DeviceSample& sample) {
  NvmlAnswer<MemoryFigures> memory = nvml_->memory(device);
  NvmlAnswer<std::vector<ProcessFigure>> processes;
  for (int tries = 0; tries < kTriesForConsistency; ++tries) {
    processes = nvml_->processes(device);
    const NvmlAnswer<MemoryFigures> again = nvml_->memory(device);
    const bool stood_still = again.result == memory.result && again.value.used == memory.value.used;
    memory = again;
    if (stood_still) break;
  }
  if (!memory) return not_answering("the device's memory", memory.result);
  sample.capacity = memory.value.total;
  sample.used = memory.value.used;
  sample.figures = figures(device);
  sample.figures.driver_reserved = memory.value.reserved;
  if (!processes) return "";  // Under WSL, say: it is not the device that is in trouble.
  sample.processes.emplace();
  for (const ProcessFigure& figure : processes.value) {
    sample.processes->push_back(facts_.look(figure.pid, now));
    sample.processes->back().used = figure.used;
  }
  add_utilization(device, sample);
  return "";
}

DeviceFigures Sampler::figures(nvml::Device device) const {
  DeviceFigures figures;
  if (const NvmlAnswer<nvml::Utilization> rates = nvml_->utilization(device)) {
    figures.gpu_utilization = rates.value.gpu;
    figures.memory_utilization = rates.value.memory;
  }
  figures.temperature = told(nvml_->temperature(device));
  figures.power_milliwatts = told(nvml_->power_milliwatts(device));
  figures.power_limit_milliwatts = told(nvml_->power_limit_milliwatts(device));
  figures.sm_clock_mhz = told(nvml_->clock_mhz(device, nvml::kClockSm));
  figures.memory_clock_mhz = told(nvml_->clock_mhz(device, nvml::kClockMemory));
  figures.fan = told(nvml_->fan_percent(device));
  figures.pcie_generation = told(nvml_->pcie_generation(device));
  figures.pcie_lanes = told(nvml_->pcie_lanes(device));
  figures.ecc_corrected = told(nvml_->ecc_errors(device, nvml::kEccCorrected));
  figures.ecc_uncorrected = told(nvml_->ecc_errors(device, nvml::kEccUncorrected));
  if (const auto reasons = nvml_->throttle_reasons(device)) {
    figures.throttle = throttle_of(reasons.value);
  }
  return figures;
}

// The driver lists those that computed since it was asked last; of a process that did not, that it
// is at rest is known too.
void Sampler::add_utilization(nvml::Device device, DeviceSample& sample) {
  unsigned long long& seen_us = utilization_seen_us_[sample.index];
  const auto told = nvml_->process_utilization(device, seen_us);
  if (!told || !sample.processes) return;
  for (ProcessSample& process : *sample.processes) process.gpu_utilization = 0;
  std::map<std::int32_t, unsigned long long> latest;
  for (const nvml::ProcessUtilization& one : told.value) {
    const auto pid = static_cast<std::int32_t>(one.pid);
    const auto process = std::ranges::find_if(
        *sample.processes, [&](const ProcessSample& other) { return other.process.pid == pid; });
    seen_us = std::max(seen_us, one.time_us);
    if (process == sample.processes->end() || one.time_us < latest[pid]) continue;
    latest[pid] = one.time_us;
    process->gpu_utilization = std::min(one.gpu, 100U);
  }
}

bool Sampler::is_asleep(const std::string& pci_bus) const {
  // A simulated device has the address of another one.
  const bool simulated = simulated_ || options_.simulated;
  if (pci_bus.empty() || (simulated && options_.sysfs == "/sys")) return false;
  const Result<std::string> status = os::read_file(
      options_.sysfs + "/bus/pci/devices/" + sysfs_name(pci_bus) + "/power/runtime_status",
      kStatusMax);
  return status.ok() && status->starts_with("suspended");
}

}  // namespace berth::gpu
