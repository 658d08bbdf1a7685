// SPDX-License-Identifier: Apache-2.0
// The simulated NVML as a program sees it. Each test looks from a process of its own.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

#include "simgpu/nvml/api.h"
#include "simgpu/testing.h"
#include "simgpu/world/clock.h"
#include "simgpu/world/device_text.h"
#include "simgpu/world/fault.h"
#include "simgpu/world/gauges.h"

namespace berth::simgpu {
namespace {

#define REQUIRE(condition) require(condition, #condition)
#define REQUIRE_OK(call) require((call) == nvml::kSuccess, #call)

nvml::Device device(unsigned int index) {
  nvml::Device found = nullptr;
  REQUIRE_OK(nvmlDeviceGetHandleByIndex_v2(index, &found));
  return found;
}

TEST(Nvml, NothingWorksBeforeInitAndAfterShutdown) {
  const TemporaryWorld world("1x16GiB");
  EXPECT_EQ(0, in_child([] {
              unsigned int count = 0;
              REQUIRE(nvmlDeviceGetCount_v2(&count) == nvml::kUninitialized);
              REQUIRE(nvmlShutdown() == nvml::kUninitialized);
              REQUIRE_OK(nvmlInit_v2());
              REQUIRE_OK(nvmlInitWithFlags(0));
              REQUIRE_OK(nvmlShutdown());
              REQUIRE_OK(nvmlDeviceGetCount_v2(&count));
              REQUIRE(count == 1);
              REQUIRE_OK(nvmlShutdown());
              REQUIRE(nvmlDeviceGetCount_v2(&count) == nvml::kUninitialized);
            }));
}

TEST(Nvml, ABadSpecIsNoDriverAndNoCrash) {
  const TemporaryWorld world("nonsense");
  EXPECT_EQ(0, in_child([] { REQUIRE(nvmlInit_v2() == nvml::kDriverNotLoaded); }));
}

TEST(Nvml, DevicesAreThoseOfTheWorldInPciOrderWhateverIsVisible) {
  const TemporaryWorld temporary("1x16GiB:RTX-5080,1x24GiB");
  const World world = temporary.open();
  ::setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  EXPECT_EQ(0, in_child([&] {
              std::array<char, nvml::kTextMax> text{};
              unsigned int number = 0;
              nvml::Device found = nullptr;
              nvml::PciInfo pci{};
              REQUIRE_OK(nvmlInit_v2());
              REQUIRE_OK(nvmlDeviceGetName(device(0), text.data(), nvml::kTextMax));
              REQUIRE(std::string(text.data()) == "RTX-5080 (simulated)");
              REQUIRE(nvmlDeviceGetName(device(0), text.data(), 4) == nvml::kInsufficientSize);
              REQUIRE_OK(nvmlDeviceGetUUID(device(1), text.data(), nvml::kTextMax));
              REQUIRE(text.data() == uuid_text(world.file().devices[1]));
              REQUIRE_OK(nvmlDeviceGetHandleByUUID(text.data(), &found));
              REQUIRE_OK(nvmlDeviceGetIndex(found, &number));
              REQUIRE(number == 1);
              REQUIRE(nvmlDeviceGetHandleByUUID("GPU-no", &found) == nvml::kNotFound);
              REQUIRE_OK(nvmlDeviceGetPciInfo_v3(found, &pci));
              REQUIRE(std::string(pci.bus_id) == "00000000:02:00.0" && pci.bus == 2);
              REQUIRE(nvmlDeviceGetHandleByIndex_v2(2, &found) == nvml::kInvalidArgument);
              REQUIRE(nvmlDeviceGetIndex(nullptr, &number) == nvml::kInvalidArgument);
              nvml::Utilization rates{};
              REQUIRE(nvmlDeviceGetUtilizationRates(device(0), &rates) == nvml::kNotSupported);
              REQUIRE(nvmlDeviceGetTemperature(device(0), 0, &number) == nvml::kNotSupported);
              REQUIRE(std::string(berthSimulatedWorld()) == world.place().name);
            }));
}

TEST(Nvml, UtilizationIsWhatWasSetAndElseNotSupported) {
  const TemporaryWorld temporary("2x16GiB");
  World world = temporary.open();
  const auto rates_of = [](unsigned int index, unsigned int gpu, unsigned int memory) {
    return in_child([&] {
      nvml::Utilization rates{};
      REQUIRE_OK(nvmlInit_v2());
      REQUIRE_OK(nvmlDeviceGetUtilizationRates(device(index), &rates));
      REQUIRE(rates.gpu == gpu && rates.memory == memory);
    });
  };
  world.file().devices[1].utilization = {.computing = 87, .copying = 40, .is_told = true};
  EXPECT_EQ(0, rates_of(1, 87, 40));
  EXPECT_NE(0, rates_of(0, 0, 0));
  world.file().devices[0].utilization = {.is_told = true};
  EXPECT_EQ(0, rates_of(0, 0, 0));
}

TEST(Nvml, WhatAProcessSaysItDoesMakesADeviceBusyAndWarm) {
  const TemporaryWorld temporary("2x16GiB");
  World world = temporary.open();
  const std::uint32_t slot = *world.claim_slot();
  world.set_context(slot, 0, true);
  set_load(world, slot, 0, 80);
  const auto self = static_cast<unsigned int>(::getpid());
  const auto looked = [&](unsigned int percent, unsigned int celsius, unsigned int milliwatts) {
    return in_child([&] {
      nvml::Utilization rates{};
      unsigned int figure = 0;
      unsigned int count = 4;
      std::array<nvml::ProcessUtilization, 4> samples{};
      REQUIRE_OK(nvmlInit_v2());
      REQUIRE_OK(nvmlDeviceGetUtilizationRates(device(0), &rates));
      REQUIRE(rates.gpu == percent && rates.memory == percent / 2);
      REQUIRE_OK(nvmlDeviceGetTemperature(device(0), 0, &figure));
      REQUIRE(figure == celsius);
      REQUIRE_OK(nvmlDeviceGetPowerUsage(device(0), &figure));
      REQUIRE(figure == milliwatts);
      const auto result = nvmlDeviceGetProcessUtilization(device(0), samples.data(), &count, 0);
      REQUIRE(result == (percent == 0 ? nvml::kNotFound : nvml::kSuccess));
      if (percent == 0) return;
      REQUIRE(count == 1 && samples[0].pid == self && samples[0].gpu == percent);
      // Nothing is later than the last.
      REQUIRE(nvmlDeviceGetProcessUtilization(device(0), samples.data(), &count, ~0ULL) ==
              nvml::kNotFound);
      REQUIRE(nvmlDeviceGetUtilizationRates(device(1), &rates) == nvml::kNotSupported);
    });
  };
  EXPECT_EQ(0, looked(80, 69, 232'800));
  set_load(world, slot, 0, 0);
  EXPECT_EQ(0, looked(0, 34, 24'000));
}

TEST(Nvml, AGaugeIsWhatWasSet) {
  const TemporaryWorld temporary("1x16GiB");
  World world = temporary.open();
  const auto set = [&](Gauge gauge, std::uint32_t figure) {
    world.file().devices[0].gauges[static_cast<std::size_t>(gauge)] = figure + 1;
  };
  set(Gauge::kSmClock, 1'500);
  set(Gauge::kMemoryClock, 0);
  set(Gauge::kEccUncorrected, 3);
  set(Gauge::kThrottle, nvml::kHeldByHeat);
  EXPECT_EQ(0, in_child([] {
              unsigned int figure = 7;
              unsigned long long wide = 0;
              REQUIRE_OK(nvmlInit_v2());
              REQUIRE_OK(nvmlDeviceGetClockInfo(device(0), nvml::kClockSm, &figure));
              REQUIRE(figure == 1'500);
              REQUIRE_OK(nvmlDeviceGetClockInfo(device(0), nvml::kClockMemory, &figure));
              REQUIRE(figure == 0);
              REQUIRE_OK(nvmlDeviceGetTotalEccErrors(device(0), nvml::kEccUncorrected,
                                                     nvml::kEccSinceBoot, &wide));
              REQUIRE(wide == 3);
              REQUIRE_OK(nvmlDeviceGetCurrentClocksThrottleReasons(device(0), &wide));
              REQUIRE(wide == nvml::kHeldByHeat);
              REQUIRE(nvmlDeviceGetFanSpeed(device(0), &figure) == nvml::kNotSupported);
            }));
}

TEST(Nvml, MemoryIsWhatProcessesOthersAndTheDriverHave) {
  const TemporaryWorld temporary("1x16GiB,reserved=512MiB");
  World world = temporary.open();
  ASSERT_TRUE(world.charge(*world.claim_slot(), 0, 512));
  ASSERT_TRUE(world.set_unmanaged(0, 256));
  EXPECT_EQ(
      0, in_child([] {
        nvml::Memory memory{};
        nvml::MemoryV2 with_reserved{.version = nvml::kMemoryVersion2};
        REQUIRE_OK(nvmlInit_v2());
        REQUIRE_OK(nvmlDeviceGetMemoryInfo_v2(device(0), &with_reserved));
        REQUIRE(with_reserved.total == gib(16).value);
        REQUIRE(with_reserved.reserved == mib(512).value);
        REQUIRE(with_reserved.used == mib(1024 + 512).value);
        REQUIRE(with_reserved.free == mib(16384 - 2048).value);
        REQUIRE_OK(nvmlDeviceGetMemoryInfo(device(0), &memory));
        REQUIRE(memory.used == mib(2048).value && memory.free == with_reserved.free);
        with_reserved.version = 1;
        REQUIRE(nvmlDeviceGetMemoryInfo_v2(device(0), &with_reserved) == nvml::kArgumentVersion);
      }));
}

TEST(Nvml, ProcessesAreListedWithTheirBytesInEachLayout) {
  const TemporaryWorld temporary("2x16GiB");
  World world = temporary.open();
  const std::uint32_t slot = *world.claim_slot();
  world.set_context(slot, 1, true);
  ASSERT_TRUE(world.charge(slot, 1, 100));
  ASSERT_TRUE(world.set_unmanaged(1, 50));
  world.file().faults.unmanaged_pid = kUnmanagedPid;
  world.file().faults.unmanaged_is_graphics = 1;
  const auto self = static_cast<unsigned int>(::getpid());
  EXPECT_EQ(
      0, in_child([self] {
        std::array<nvml::ProcessInfoV1, 4> old{};
        std::array<nvml::ProcessInfoV2, 4> entries{};
        unsigned int count = 0;
        REQUIRE_OK(nvmlInit_v2());
        REQUIRE_OK(nvmlDeviceGetComputeRunningProcesses_v3(device(0), &count, nullptr));
        REQUIRE(count == 0);
        REQUIRE(nvmlDeviceGetComputeRunningProcesses_v3(device(1), &count, nullptr) ==
                nvml::kInsufficientSize);
        REQUIRE(count == 1);
        count = 4;
        REQUIRE_OK(nvmlDeviceGetComputeRunningProcesses_v3(device(1), &count, entries.data()));
        REQUIRE(count == 1 && entries[0].pid == self);
        REQUIRE(entries[0].used == 100 * kBlockBytes);
        count = 4;
        REQUIRE_OK(nvmlDeviceGetComputeRunningProcesses(device(1), &count, old.data()));
        REQUIRE(count == 1 && old[0].pid == self && old[0].used == 100 * kBlockBytes);
        count = 4;
        REQUIRE_OK(nvmlDeviceGetGraphicsRunningProcesses_v3(device(1), &count, entries.data()));
        REQUIRE(count == 1 && entries[0].pid == kUnmanagedPid);
      }));
}

TEST(Nvml, WhatWatchersWantToFindIsThere) {
  const TemporaryWorld temporary("2x16GiB");
  EXPECT_EQ(0, in_child([] {
              nvml::PciInfoV1 first{};
              nvml::PciInfoV2 second{};
              nvml::PciInfo third{};
              unsigned int number = 0;
              REQUIRE_OK(nvmlInit_v2());
              REQUIRE_OK(nvmlDeviceGetPciInfo(device(1), &first));
              REQUIRE_OK(nvmlDeviceGetPciInfo_v2(device(1), &second));
              REQUIRE_OK(nvmlDeviceGetPciInfo_v3(device(1), &third));
              REQUIRE(std::string(first.bus_id) == "0000:02:00.0" && first.bus == 2);
              REQUIRE(std::string(second.bus_id) == first.bus_id && second.bus == 2);
              REQUIRE(std::string(third.bus_id_legacy) == first.bus_id);
              REQUIRE_OK(nvmlDeviceGetMinorNumber(device(1), &number));
              REQUIRE(number == 1);
              REQUIRE_OK(nvmlDeviceGetMPSComputeRunningProcesses_v3(device(1), &number, nullptr));
              REQUIRE(number == 0);
              REQUIRE(nvmlDeviceGetFanSpeed(device(1), &number) == nvml::kNotSupported);
              REQUIRE(nvmlDeviceGetProcessUtilization(device(1), nullptr, &number, 0) ==
                      nvml::kNotSupported);
            }));
}

TEST(Nvml, AProcessWithAContextAndNoMemoryIsListedWithNone) {
  const TemporaryWorld temporary("1x16GiB");
  World world = temporary.open();
  world.set_context(*world.claim_slot(), 0, true);
  EXPECT_EQ(0, in_child([] {
              nvml::ProcessInfoV2 entry{.used = 7};
              unsigned int count = 1;
              REQUIRE_OK(nvmlInit_v2());
              REQUIRE_OK(nvmlDeviceGetComputeRunningProcesses_v3(device(0), &count, &entry));
              REQUIRE(count == 1 && entry.used == 0);
            }));
}

TEST(Nvml, FiguresThatTheDriverDoesNotTellAreMarkedSo) {
  const TemporaryWorld temporary("1x16GiB");
  World world = temporary.open();
  ASSERT_TRUE(world.charge(*world.claim_slot(), 0, 100));
  world.file().faults.no_process_figures = 1;
  EXPECT_EQ(0, in_child([] {
              nvml::ProcessInfoV2 entry{};
              unsigned int count = 1;
              REQUIRE_OK(nvmlInit_v2());
              REQUIRE_OK(nvmlDeviceGetComputeRunningProcesses_v3(device(0), &count, &entry));
              REQUIRE(entry.used == nvml::kValueNotAvailable);
            }));
}

TEST(Nvml, ALostDeviceSaysSoAndItsNeighbourAnswers) {
  const TemporaryWorld temporary("2x16GiB");
  const World world = temporary.open();
  world.file().devices[0].lost = 1;
  EXPECT_EQ(0, in_child([] {
              nvml::Device found = nullptr;
              unsigned int count = 0;
              REQUIRE_OK(nvmlInit_v2());
              REQUIRE_OK(nvmlDeviceGetCount_v2(&count));
              REQUIRE(count == 2);
              REQUIRE(nvmlDeviceGetHandleByIndex_v2(0, &found) == nvml::kGpuIsLost);
              nvml::Memory memory{};
              REQUIRE_OK(nvmlDeviceGetMemoryInfo(device(1), &memory));
            }));
}

TEST(Nvml, TheDriverIsTheOneThatHadTheWorldsCudaFirst) {
  const TemporaryWorld temporary("1x16GiB,cuda=13.3");
  EXPECT_EQ(0, in_child([] {
              std::array<char, 80> text{};
              int cuda = 0;
              REQUIRE_OK(nvmlInit_v2());
              REQUIRE_OK(nvmlSystemGetDriverVersion(text.data(), text.size()));
              REQUIRE(std::string(text.data()) == "610.00-simulated");
              REQUIRE_OK(nvmlSystemGetNVMLVersion(text.data(), text.size()));
              REQUIRE(std::string(text.data()) == "13.610.00-simulated");
              REQUIRE_OK(nvmlSystemGetCudaDriverVersion_v2(&cuda));
              REQUIRE(cuda == 13030);
            }));
}

TEST(Nvml, ErrorsComeAsOftenAsTheyWereSet) {
  const TemporaryWorld temporary("1x16GiB");
  const World world = temporary.open();
  FaultState& faults = world.file().faults;
  EXPECT_EQ(0, in_child([&] {
              unsigned int count = 0;
              REQUIRE_OK(nvmlInit_v2());
              set_error(faults.nvml_error, nvml::kUnknown, 2);
              REQUIRE(nvmlDeviceGetCount_v2(&count) == nvml::kUnknown);
              REQUIRE(nvmlDeviceGetCount_v2(&count) == nvml::kUnknown);
              REQUIRE_OK(nvmlDeviceGetCount_v2(&count));
              set_error(faults.nvml_error, nvml::kVersionMismatch, kForEver);
              for (int i = 0; i < 10; ++i) REQUIRE(nvmlInit_v2() == nvml::kVersionMismatch);
              set_error(faults.nvml_error, 0, 0);
              REQUIRE_OK(nvmlInit_v2());
            }));
}

TEST(Nvml, CallsHangUntilTheyAreFreed) {
  const TemporaryWorld temporary("1x16GiB");
  const World world = temporary.open();
  Child child([&](Child& self) {
    REQUIRE_OK(nvmlInit_v2());
    self.tell_parent();
    self.wait_for_parent();
    unsigned int count = 0;
    self.tell_parent();
    REQUIRE_OK(nvmlDeviceGetCount_v2(&count));
    require(world.file().faults.nvml_hang.until_ns.load() == 0, "it waited to be freed");
  });
  ASSERT_TRUE(child.wait_for_child());
  set_hang(world.file().faults.nvml_hang, now_ns() + 60'000'000'000);
  child.tell_child();
  ASSERT_TRUE(child.wait_for_child());
  set_hang(world.file().faults.nvml_hang, 0);
  EXPECT_EQ(child.wait(), 0);
}

TEST(Nvml, AHangEndsByItself) {
  const TemporaryWorld temporary("1x16GiB");
  const World world = temporary.open();
  const std::int64_t until = now_ns() + 20'000'000;
  set_hang(world.file().faults.nvml_hang, until);
  EXPECT_EQ(meet_nvml_faults(world.file().faults), nvml::kSuccess);
  EXPECT_GE(now_ns(), until);
}

TEST(Nvml, ErrorsHaveWords) {
  EXPECT_STREQ(nvmlErrorString(nvml::kGpuIsLost), "the GPU has fallen off the bus");
  EXPECT_STREQ(nvmlErrorString(static_cast<nvml::Return>(12345)), "unknown error");
}

}  // namespace
}  // namespace berth::simgpu
