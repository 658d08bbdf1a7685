// SPDX-License-Identifier: Apache-2.0
#include "simgpu/nvml/state.h"

#include <bit>
#include <cstdio>
#include <mutex>

#include "simgpu/world/fault.h"
#include "simgpu/world/immortal.h"

namespace berth::simgpu {
namespace {

struct State {
  std::mutex mutex;
  std::optional<World> world;
  unsigned int initialised = 0;
};

State& state() {
  static Immortal<State> state;
  return state.value;
}

// Handles are numbers above 0 in the shape of pointers; nothing is ever read through them.
constexpr std::uintptr_t kHandleBase = 0x51b0;

}  // namespace

nvml::Device handle_of(std::uint32_t device) {
  return std::bit_cast<nvml::Device>(kHandleBase + device);
}

nvml::Return initialise_nvml() {
  State& nvml = state();
  {
    const std::lock_guard lock(nvml.mutex);
    if (!nvml.world) {
      Result<World> world = World::open_from_environment();
      if (!world.ok()) {
        (void)std::fprintf(stderr, "libnvidia-ml (simulated): %s\n", world.error().message.c_str());
        return nvml::kDriverNotLoaded;
      }
      nvml.world.emplace(*std::move(world));
    }
  }
  // Not under the lock: one call that hangs must not be why another one does.
  const nvml::Return fault = meet_nvml_faults(nvml.world->file().faults);
  const std::lock_guard lock(nvml.mutex);
  if (fault == nvml::kSuccess) ++nvml.initialised;
  if (nvml.initialised == 0) nvml.world.reset();
  return fault;
}

nvml::Return shut_nvml_down() {
  State& nvml = state();
  const std::lock_guard lock(nvml.mutex);
  if (nvml.initialised == 0) return nvml::kUninitialized;
  if (--nvml.initialised == 0) nvml.world.reset();
  return nvml::kSuccess;
}

Entered enter_nvml() {
  State& nvml = state();
  World* world = nullptr;
  {
    const std::lock_guard lock(nvml.mutex);
    if (nvml.initialised == 0 || !nvml.world) return {nvml::kUninitialized, nullptr};
    world = &*nvml.world;
  }
  return {meet_nvml_faults(world->file().faults), world};
}

EnteredDevice enter_nvml(nvml::Device handle) {
  const auto [result, world] = enter_nvml();
  if (result != nvml::kSuccess) return {result, nullptr, 0};
  const std::uintptr_t device = reinterpret_cast<std::uintptr_t>(handle) - kHandleBase;
  if (device >= world->device_count()) return {nvml::kInvalidArgument, nullptr, 0};
  const auto index = static_cast<std::uint32_t>(device);
  if (world->is_lost(index)) return {nvml::kGpuIsLost, nullptr, 0};
  return {nvml::kSuccess, world, index};
}

}  // namespace berth::simgpu
