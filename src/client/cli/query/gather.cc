// SPDX-License-Identifier: Apache-2.0
#include "cli/query/gather.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <string_view>

#include "base/letters.h"
#include "base/simulated.h"
#include "cli/render/text.h"
#include "cli/terminal.h"
#include "gpu/nvml.h"
#include "os/clock.h"
#include "os/processes.h"
#include "os/programs.h"

namespace berth::cli {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

// By its path where a GPU is simulated: this program was not started with the path of it.
Result<std::string> nvml_library() {
  if (environment_text("BERTH_SIM").empty()) return std::string("libnvidia-ml.so.1");
  TRY(program, os::sibling_program("berth-probe"));
  return simulated_library_path(program, "") + "/libnvidia-ml.so.1";
}

Figure why_not(nvml::Return result) {
  if (result == nvml::kNotSupported || result == nvml::kFunctionNotFound) return {};
  return not_told(result == nvml::kGpuIsLost ? "GPU is lost" : "Unknown Error");
}

template <class T, class Words>
Figure words(const gpu::NvmlAnswer<T>& answer, Words words) {
  return answer ? figure(words(answer.value)) : why_not(answer.result);
}

std::uint64_t mib(Bytes bytes) {
  return bytes.value / kMiB;
}

std::string watts(std::uint32_t milliwatts) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.2f", milliwatts / 1'000.0);
  return text.data();
}

void add_memory(const gpu::NvmlAnswer<gpu::MemoryFigures>& answer, GpuFacts& facts) {
  facts.total = facts.used = facts.free = why_not(answer.result);
  if (!answer) return;
  const Bytes reserved = answer.value.reserved.value_or(Bytes{});
  facts.total = figure(mib(answer.value.total));
  facts.used = figure(mib(answer.value.used));
  facts.free = figure(mib(saturating_sub(answer.value.total, answer.value.used + reserved)));
  if (answer.value.reserved) facts.reserved = figure(mib(reserved));
}

GpuFacts facts_of(const gpu::Nvml& nvml, nvml::Device device, std::uint32_t index) {
  const auto as_it_is = [](const auto& value) { return value; };
  const auto number = [](std::uint32_t value) { return std::to_string(value); };
  GpuFacts facts{.index = index, .driver_version = nvml.driver_version()};
  facts.uuid = words(nvml.uuid(device), as_it_is);
  facts.name = words(nvml.name(device), as_it_is);
  facts.pci_bus = nvml.pci_bus(device).value;
  std::ranges::transform(facts.pci_bus, facts.pci_bus.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  add_memory(nvml.memory(device), facts);
  const auto rates = nvml.utilization(device);
  facts.utilization =
      words(rates, [](const nvml::Utilization& rate) { return std::to_string(rate.gpu); });
  facts.memory_utilization =
      words(rates, [](const nvml::Utilization& rate) { return std::to_string(rate.memory); });
  facts.temperature = words(nvml.temperature(device), number);
  facts.power = words(nvml.power_milliwatts(device), watts);
  facts.power_limit = words(nvml.power_limit_milliwatts(device), watts);
  facts.clocks.graphics = words(nvml.clock_mhz(device, nvml::kClockGraphics), number);
  facts.clocks.sm = words(nvml.clock_mhz(device, nvml::kClockSm), number);
  facts.clocks.memory = words(nvml.clock_mhz(device, nvml::kClockMemory), number);
  facts.fan = words(nvml.fan_percent(device), number);
  facts.pcie.generation = words(nvml.pcie_generation(device), number);
  facts.pcie.lanes = words(nvml.pcie_lanes(device), number);
  return facts;
}

std::string name_of(std::int32_t pid) {
  const Result<os::ProcessState> state = os::process_state(pid);
  if (!state.ok()) return "[Not Found]";
  const auto command = os::command_line(state->process);
  // The user who started it chose its name.
  return escape_control_line(command.ok() && !command->empty() ? command->front() : state->name);
}

void add_programs(const gpu::Nvml& nvml, nvml::Device device, const GpuFacts& gpu, Seen& seen) {
  for (const gpu::ProcessFigure& process : nvml.compute_processes(device).value) {
    seen.programs.push_back({.gpu = gpu,
                             .pid = process.pid,
                             .name = name_of(process.pid),
                             .used = process.used ? figure(mib(*process.used)) : Figure{}});
  }
}

bool is_wanted(const GpuFacts& gpu, std::string_view wanted) {
  return wanted.empty() || std::ranges::any_of(items_of(wanted), [&](std::string_view name) {
           return name == std::to_string(gpu.index) || name == gpu.uuid.text || name == gpu.pci_bus;
         });
}

}  // namespace

Result<Seen> gather(const std::string& wanted, int& status) {
  status = nvml::kDriverNotLoaded;
  TRY(library, nvml_library());
  TRY(nvml, gpu::Nvml::load(library));
  const gpu::NvmlAnswer<std::uint32_t> count = nvml->count();
  status = static_cast<int>(count.result);
  if (!count) return Error{Errc::kUnavailable, "NVML: " + gpu::explain(count.result)};
  Seen seen;
  for (std::uint32_t i = 0; i < count.value; ++i) {
    const gpu::NvmlAnswer<nvml::Device> device = nvml->device(i);
    GpuFacts facts{.index = i};
    facts.uuid = facts.name = facts.total = facts.used = facts.free = why_not(device.result);
    if (device) facts = facts_of(*nvml, device.value, i);
    facts.count = count.value;
    facts.asked_at = os::PosixClock().wall();
    if (!is_wanted(facts, wanted)) continue;
    seen.gpus.push_back(facts);
    if (device) add_programs(*nvml, device.value, facts, seen);
  }
  status = nvml::kNotFound;
  if (seen.gpus.empty()) return Error{Errc::kNotFound, "No devices were found"};
  return seen;
}

}  // namespace berth::cli
