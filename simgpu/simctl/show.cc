// SPDX-License-Identifier: Apache-2.0
#include "simgpu/simctl/show.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "simgpu/world/clock.h"
#include "simgpu/world/device_text.h"
#include "simgpu/world/gauges.h"

namespace berth::simgpu {
namespace {

using Json = nlohmann::ordered_json;

Json process_json(const ProcessFigures& process) {
  return {{"pid", process.pid},
          {"used_bytes", process.used.value},
          {"type", process.graphics ? "graphics" : "compute"},
          {"ended", process.ended}};
}

Json utilization_json(std::optional<UtilizationRates> rates) {
  if (!rates) return nullptr;
  return {{"gpu", rates->computing}, {"memory", rates->copying}};
}

Json gauges_json(World& world, std::uint32_t device) {
  Json gauges = Json::object();
  for (std::size_t i = 0; i < kGauges; ++i) {
    const auto figure = gauge_of(world, device, static_cast<Gauge>(i));
    gauges[std::string(kGaugeNames[i])] = figure ? Json(*figure) : Json(nullptr);
  }
  return gauges;
}

Json device_json(World& world, std::uint32_t index) {
  const DeviceState& device = world.file().devices[index];
  const DeviceFigures figures = world.figures(index);
  Json processes = Json::array();
  for (const ProcessFigures& process : world.processes(index)) {
    processes.push_back(process_json(process));
  }
  return {{"index", index},
          {"uuid", uuid_text(device)},
          {"name", name_text(device)},
          {"pci_bus", pci_text(index, 8)},
          {"capacity_bytes", figures.capacity.value},
          {"reserved_bytes", figures.reserved.value},
          {"used_bytes", figures.used.value},
          {"used_max_bytes", figures.used_max.value},
          {"free_bytes", figures.free.value},
          {"unmanaged_bytes", world.unmanaged_used(index).value},
          {"lost", world.is_lost(index)},
          {"mode", kModeNames[static_cast<std::size_t>(device.mode.load())]},
          {"utilization", utilization_json(utilization_of(world, index))},
          {"gauges", gauges_json(world, index)},
          {"processes", std::move(processes)}};
}

double left_ms(const HangState& hang) {
  return std::max(static_cast<double>(hang.until_ns.load() - now_ns()) / 1e6, 0.0);
}

std::uint32_t code_of(const ErrorState& error) {
  return error.left.load() == 0 ? 0 : error.code.load();
}

Json left_json(const ErrorState& error) {
  const std::uint32_t left = error.left.load();
  return left == kForEver ? Json(nullptr) : Json(left);
}

Json faults_json(const FaultState& faults) {
  Json checkpoints = Json::object();
  for (std::size_t i = 0; i < kCheckpointCalls; ++i) {
    const ErrorState& error = faults.checkpoint_errors[i];
    checkpoints[std::string(kCheckpointCallNames[i])] = {{"error", code_of(error)},
                                                         {"errors_left", left_json(error)}};
  }
  return {{"teardown_ms", static_cast<double>(faults.teardown_us.load()) / 1e3},
          {"nvml_error", code_of(faults.nvml_error)},
          {"nvml_errors_left", left_json(faults.nvml_error)},
          {"nvml_hang_ms", left_ms(faults.nvml_hang)},
          {"busy_ms", left_ms(faults.busy)},
          {"checkpoint_hang_ms", left_ms(faults.checkpoint_hang)},
          {"checkpoint_calls", std::move(checkpoints)},
          {"process_figures", faults.no_process_figures.load() == 0}};
}

// As CUprocessState counts them.
constexpr std::string_view kStateNames[] = {"running", "locked", "checkpointed", "failed"};

Json checkpoint_json(World& world) {
  const DeviceFigures figures = world.figures(kHostMemory);
  Json processes = Json::array();
  for (const CheckpointFigures& process : world.checkpointables()) {
    processes.push_back(
        {{"pid", process.pid},
         {"state", process.state < std::size(kStateNames) ? kStateNames[process.state] : "unknown"},
         {"saved_bytes", process.saved.value}});
  }
  return {{"capacity_bytes", figures.capacity.value},
          {"used_bytes", figures.used.value},
          {"used_max_bytes", figures.used_max.value},
          {"processes", std::move(processes)}};
}

}  // namespace

std::string show_text(World& world) {
  Json devices = Json::array();
  for (std::uint32_t i = 0; i < world.device_count(); ++i) devices.push_back(device_json(world, i));
  const Json shown = {{"schema", "berth/simgpu/v1"},
                      {"world", world.place().name},
                      {"directory", world.place().directory},
                      {"spec", world.place().spec_text},
                      {"context_bytes", world.file().context_blocks * kBlockBytes},
                      {"events", world.file().events_made.load()},
                      {"checkpoint_memory", checkpoint_json(world)},
                      {"faults", faults_json(world.file().faults)},
                      {"devices", std::move(devices)}};
  return shown.dump(2) + "\n";
}

std::string events_text(const World& world) {
  const std::uint64_t made = world.file().events_made.load();
  std::string text;
  for (std::uint64_t number = made - std::min<std::uint64_t>(made, kEventsMax); number < made;
       ++number) {
    const EventState& event = world.file().events[number % kEventsMax];
    const Json line = {
        {"number", number},
        {"time_ns", event.time_ns.load()},
        {"device", event.device.load()},
        {"pid", event.pid.load()},
        {"change_bytes", event.change_blocks.load() * static_cast<std::int64_t>(kBlockBytes)},
        {"used_bytes", event.used_blocks.load() * kBlockBytes}};
    // Not yet written, or written over while it was read.
    if (event.sequence.load() == number + 1) text += line.dump() + "\n";
  }
  return text;
}

}  // namespace berth::simgpu
