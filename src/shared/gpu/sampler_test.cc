// SPDX-License-Identifier: Apache-2.0
// One look at the devices, in this process, through the simulated NVML and an old one.
#include "gpu/sampler.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "gpu/world_for_test.h"
#include "os/processes.h"

namespace berth::gpu {
namespace {

class SetClock final : public os::Clock {
 public:
  Instant now() const override { return time; }
  UnixMs wall() const override { return {}; }
  Instant time{seconds(100).ns};
};

Sampler::Options simulated() {
  return {.library = library_directory() + "/simgpu/libnvidia-ml.so.1", .simulated = true};
}

const SetClock kClock;

TEST(Sampler, DevicesComeInPciOrderWithTheirFigures) {
  const TestWorld world("1x16GiB:RTX-5080,1x24GiB,reserved=256MiB");
  world.set({"unmanaged", "1", "2GiB", "unlisted"});
  world.set({"utilization", "1", "87", "40"});
  const Sample sample = Sampler(simulated(), kClock).sample();
  EXPECT_EQ(sample.trouble, "");
  EXPECT_TRUE(sample.simulated);
  EXPECT_EQ(sample.driver_version, "575.00-simulated");
  ASSERT_EQ(sample.devices.size(), 2U);
  EXPECT_EQ(sample.devices[0].model, "RTX-5080 (simulated)");
  EXPECT_EQ(sample.devices[0].pci_bus, "00000000:01:00.0");
  EXPECT_EQ(sample.devices[1].index, 1U);
  EXPECT_EQ(sample.devices[1].capacity, gib(24));
  EXPECT_EQ(sample.devices[1].used, gib(2));
  EXPECT_EQ(sample.devices[1].figures.driver_reserved, mib(256));
  EXPECT_EQ(sample.devices[1].figures.gpu_utilization, 87);
  EXPECT_EQ(sample.devices[1].figures.memory_utilization, 40);
  EXPECT_EQ(sample.devices[0].figures.gpu_utilization, std::nullopt);
  EXPECT_EQ(sample.devices[1].processes->size(), 0U);
  EXPECT_NE(sample.devices[0].id, sample.devices[1].id);
}

TEST(Sampler, TellsHowBusyADeviceAndEachProcessIs) {
  const TestWorld world("1x16GiB");
  Sampler sampler(simulated(), kClock);
  EXPECT_EQ(sampler.sample().devices[0].figures.temperature, std::nullopt);
  Program busy("vram_user", {"--bytes", "1GiB", "--hold", "forever", "--busy", "80%"});
  Program resting("vram_user", {"--bytes", "1GiB", "--hold", "forever"});
  ASSERT_TRUE(busy.reads("holding") && resting.reads("holding"));
  const auto look = [&] {
    DeviceSample device = sampler.sample().devices[0];
    std::ranges::sort(*device.processes, std::greater(), &ProcessSample::gpu_utilization);
    return device;
  };
  DeviceSample device = look();
  for (int tries = 0; tries < 10'000 && device.figures.gpu_utilization != 80; ++tries) {
    device = look();
  }
  EXPECT_EQ(device.figures.gpu_utilization, 80);
  EXPECT_EQ(device.figures.temperature, 69);
  EXPECT_EQ(device.figures.power_milliwatts, 232'800);
  EXPECT_EQ(device.figures.power_limit_milliwatts, 300'000);
  EXPECT_EQ(device.figures.fan, 49);
  EXPECT_EQ(device.figures.throttle, Throttle::kNone);
  EXPECT_EQ(device.figures.ecc_uncorrected, 0);
  ASSERT_EQ(device.processes->size(), 2U);
  EXPECT_EQ(device.processes->at(0).gpu_utilization, 80);
  EXPECT_EQ(device.processes->at(1).gpu_utilization, 0);
  world.set({"gauge", "0", "temperature", "91"});
  world.set({"gauge", "0", "throttle", "100"});  // By power, by heat, and by the board's heat.
  EXPECT_EQ(look().figures.temperature, 91);
  EXPECT_EQ(look().figures.throttle, Throttle::kHardware);
  world.set({"gauge", "0", "throttle", "36"});
  EXPECT_EQ(look().figures.throttle, Throttle::kThermal);
  world.set({"gauge", "0", "throttle", "5"});  // By power, and because it idles.
  EXPECT_EQ(look().figures.throttle, Throttle::kPower);
}

TEST(Sampler, AProcessComesWithAllByWhichItIsAttributed) {
  const TestWorld world("1x16GiB");
  const Handle lease{0x123456789abcdef0, 42};
  ::setenv("BERTH_LEASE_ID", to_text(lease).c_str(), 1);
  Program user("vram_user", {"--bytes", "1GiB", "--hold", "forever"});
  ::unsetenv("BERTH_LEASE_ID");
  ASSERT_TRUE(user.reads("holding"));
  const Sample sample = Sampler(simulated(), kClock).sample();
  ASSERT_EQ(sample.devices[0].processes->size(), 1U);
  const ProcessSample& process = sample.devices[0].processes->front();
  EXPECT_EQ(process.process, os::process_state(user.pid())->process);
  EXPECT_EQ(process.used, gib(1) + mib(300));
  EXPECT_EQ(process.user.value, ::geteuid());
  EXPECT_EQ(process.name, "vram_user");
  EXPECT_EQ(process.env_lease, lease);
  ASSERT_FALSE(process.ancestors.empty());
  EXPECT_EQ(process.ancestors[0], os::self());
  EXPECT_TRUE(process.alive);
}

TEST(Sampler, ADeadProcessThatIsStillListedKeepsItsFacts) {
  const TestWorld world("1x16GiB");
  world.set({"teardown", "1h"});
  Sampler sampler(simulated(), kClock);
  Program user("vram_user", {"--bytes", "1GiB", "--hold", "forever"});
  ASSERT_TRUE(user.reads("holding"));
  const ProcessSample before = sampler.sample().devices[0].processes->front();
  ::kill(user.pid(), SIGKILL);
  (void)user.wait();
  const Sample sample = sampler.sample();
  ASSERT_EQ(sample.devices[0].processes->size(), 1U);
  const ProcessSample& after = sample.devices[0].processes->front();
  EXPECT_FALSE(after.alive);
  EXPECT_EQ(after.process, before.process);
  EXPECT_EQ(after.ancestors, before.ancestors);
  EXPECT_EQ(after.used, gib(1) + mib(300));
  world.set({"teardown", "0"});
  EXPECT_TRUE(sampler.sample().devices[0].processes->empty());
}

TEST(Sampler, APidThatWasNeverSeenAliveIsJustAPid) {
  const TestWorld world("1x16GiB");
  world.set({"unmanaged", "0", "2GiB"});
  const Sample sample = Sampler(simulated(), kClock).sample();
  ASSERT_EQ(sample.devices[0].processes->size(), 1U);
  const ProcessSample& unmanaged_process = sample.devices[0].processes->front();
  EXPECT_FALSE(unmanaged_process.alive);
  EXPECT_EQ(unmanaged_process.process.pid, 4194303);
  EXPECT_EQ(unmanaged_process.used, gib(2));
  EXPECT_TRUE(unmanaged_process.ancestors.empty());
}

TEST(Sampler, UnknownFiguresAreAbsentAndNotZero) {
  const TestWorld world("1x16GiB");
  world.set({"unmanaged", "0", "2GiB"});
  world.set({"no-process-figures", "on"});
  const Sample sample = Sampler(simulated(), kClock).sample();
  EXPECT_EQ(sample.devices[0].processes->front().used, std::nullopt);
  EXPECT_EQ(sample.devices[0].used, gib(2));
}

TEST(Sampler, ALostDeviceKeepsItsNameAndItsNeighbourItsFigures) {
  const TestWorld world("2x16GiB");
  Sampler sampler(simulated(), kClock);
  const DeviceId id = sampler.sample().devices[0].id;
  world.set({"lose", "0"});
  const Sample sample = sampler.sample();
  ASSERT_EQ(sample.devices.size(), 2U);
  EXPECT_TRUE(sample.devices[0].lost);
  EXPECT_EQ(sample.devices[0].id, id);
  EXPECT_NE(sample.devices[0].trouble.find("NVML_ERROR_GPU_IS_LOST"), std::string::npos);
  EXPECT_EQ(sample.devices[0].used, std::nullopt);
  EXPECT_FALSE(sample.devices[1].lost);
  EXPECT_EQ(sample.devices[1].used, Bytes{});
  world.set({"find", "0"});
  EXPECT_FALSE(sampler.sample().devices[0].lost);
}

/// What power management tells of the devices of a world.
class Power {
 public:
  explicit Power(const TestWorld& world) : root_(world.directory() + "/sys") {}

  Sampler::Options options() const {
    Sampler::Options options = simulated();
    options.sysfs = root_;
    return options;
  }
  void set(int device, const char* status) const {
    const std::string folder =
        root_ + "/bus/pci/devices/0000:0" + std::to_string(device + 1) + ":00.0/power";
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/runtime_status") << status << "\n";
  }

 private:
  std::string root_;
};

TEST(Sampler, ASleepingDeviceIsNotAsked) {
  const TestWorld world("2x16GiB");
  const Power power(world);
  Sampler sampler(power.options(), kClock);
  const Sample before = sampler.sample();
  power.set(1, "suspended");
  world.set({"lose", "1"});  // Each question about it shows that, even the one where it is.
  Sample sample = sampler.sample();
  EXPECT_FALSE(sample.devices[0].asleep);
  EXPECT_EQ(sample.devices[0].used, Bytes{});
  EXPECT_TRUE(sample.devices[1].asleep);
  EXPECT_FALSE(sample.devices[1].lost);
  EXPECT_EQ(sample.devices[1].trouble, "");
  EXPECT_EQ(sample.devices[1].used, std::nullopt);
  EXPECT_EQ(sample.devices[1].processes, std::nullopt);
  EXPECT_EQ(sample.devices[1].id, before.devices[1].id);
  power.set(1, "active");
  sample = sampler.sample();
  EXPECT_FALSE(sample.devices[1].asleep);
  EXPECT_TRUE(sample.devices[1].lost);
}

TEST(Sampler, AStrangeDeviceIsWokenOnceToKnowWhatItIs) {
  const TestWorld world("1x16GiB");
  const Power power(world);
  power.set(0, "suspended");
  Sampler sampler(power.options(), kClock);
  const Sample first = sampler.sample();
  EXPECT_FALSE(first.devices[0].asleep);
  EXPECT_EQ(first.devices[0].capacity, gib(16));
  EXPECT_TRUE(sampler.sample().devices[0].asleep);
}

TEST(Sampler, WhereAllThatAreKnownSleepNvmlIsNotLoaded) {
  const TestWorld world("2x16GiB");
  const Power power(world);
  std::vector<Identity> known;
  for (const DeviceSample& device : Sampler(simulated(), kClock).sample().devices) {
    known.push_back({device.id, device.index, device.model, device.pci_bus});
  }
  power.set(0, "suspended");
  power.set(1, "suspended");
  Sampler::Options options = power.options();
  options.library = "/nonexistent/libnvidia-ml.so.1";
  Sampler sampler(options, kClock);
  sampler.remember(known);
  const Sample asleep = sampler.sample();
  EXPECT_EQ(asleep.trouble, "");
  EXPECT_TRUE(asleep.simulated);
  ASSERT_EQ(asleep.devices.size(), 2U);
  EXPECT_TRUE(asleep.devices[1].asleep);
  EXPECT_EQ(asleep.devices[1].id, known[1].id);
  EXPECT_EQ(asleep.devices[1].model, known[1].model);
  EXPECT_EQ(asleep.devices[1].pci_bus, known[1].pci_bus);
  power.set(0, "active");
  EXPECT_NE(sampler.sample().trouble, "") << "one is awake, and NVML is asked about it";
}

TEST(Sampler, WhereThereAreMoreDevicesThanThereWereAllAreAskedForTheirNames) {
  const TestWorld world("2x16GiB");
  const Power power(world);
  power.set(0, "suspended");
  Sampler sampler(power.options(), kClock);
  sampler.remember({{.id = {1, 2}, .index = 0, .model = "old", .pci_bus = "00000000:03:00.0"}});
  const Sample sample = sampler.sample();
  ASSERT_EQ(sample.devices.size(), 2U);
  EXPECT_NE(sample.devices[0].id, (DeviceId{1, 2}));
  EXPECT_EQ(sample.devices[0].capacity, gib(16));
}

TEST(Sampler, WorldThatCannotBeMadeIsSaidSo) {
  const TestWorld world("1x16GiB");
  ::setenv("BERTH_SIM", "16", 1);
  const Sample sample = Sampler(simulated(), kClock).sample();
  EXPECT_NE(sample.trouble.find("BERTH_SIM=2x16GiB"), std::string::npos) << sample.trouble;
}

TEST(Sampler, TroubleOfTheDriverIsExplainedAndPassesWithIt) {
  struct Case {
    const char* code;
    const char* says;
  };
  const Case cases[] = {{"ERROR_LIB_RM_VERSION_MISMATCH", "reboot"},
                        {"ERROR_DRIVER_NOT_LOADED", "modprobe nvidia"},
                        {"ERROR_NO_PERMISSION", "/dev/nvidia"},
                        {"ERROR_GPU_NOT_FOUND", "sees no GPU"},
                        {"777", "NVML error 777"}};
  const TestWorld world("1x16GiB");
  for (const Case& wrong : cases) {
    Sampler sampler(simulated(), kClock);
    world.set({"nvml-error", wrong.code});
    const Sample sample = sampler.sample();
    EXPECT_NE(sample.trouble.find(wrong.says), std::string::npos) << sample.trouble;
    EXPECT_TRUE(sample.devices.empty());
    world.set({"nvml-error", "0"});
    EXPECT_EQ(sampler.sample().trouble, "");
    world.set({"nvml-error", wrong.code});  // After a good start, too.
    EXPECT_NE(sampler.sample().trouble, "");
    world.set({"nvml-error", "0"});
    EXPECT_EQ(sampler.sample().devices.size(), 1U);
  }
}

TEST(Sampler, AMissingOrBrokenLibraryIsExplained) {
  const TestWorld world("1x16GiB");
  Sampler::Options options{.library = world.directory() + "/libnvidia-ml.so.1"};
  Sampler sampler(options, kClock);
  EXPECT_NE(sampler.sample().trouble.find("is not installed"), std::string::npos);
  std::ofstream(options.library) << "no library";
  EXPECT_NE(sampler.sample().trouble.find("cannot be loaded"), std::string::npos);
  std::filesystem::remove(options.library);
  std::filesystem::copy(library_directory() + "/simgpu/libcuda.so.1", options.library);
  EXPECT_NE(sampler.sample().trouble.find("has no nvmlInit_v2"), std::string::npos);
}

TEST(Sampler, AnOldDriverTellsLessAndThatIsAbsent) {
  const Sample sample =
      Sampler({.library = library_directory() + "/old_nvml/libnvidia-ml.so.1"}, kClock).sample();
  EXPECT_FALSE(sample.simulated);
  ASSERT_EQ(sample.devices.size(), 3U);
  EXPECT_EQ(sample.devices[0].used, Bytes{600});
  EXPECT_EQ(sample.devices[0].figures.driver_reserved, std::nullopt);
  ASSERT_EQ(sample.devices[0].processes->size(), 200U);
  EXPECT_EQ(sample.devices[0].processes->at(0).used, std::nullopt);
  EXPECT_EQ(sample.devices[0].processes->at(7).used, Bytes{7});
  EXPECT_TRUE(sample.devices[1].lost);
  EXPECT_NE(sample.devices[1].trouble.find("memory"), std::string::npos);
  EXPECT_EQ(sample.devices[2].id, DeviceId{});
  EXPECT_NE(sample.devices[2].trouble.find("'none'"), std::string::npos);
}

TEST(Sampler, InASimulatedWorldARealDriverWillNotDo) {
  const TestWorld world("1x16GiB");
  const Sample sample =
      Sampler({.library = library_directory() + "/old_nvml/libnvidia-ml.so.1", .simulated = true},
              kClock)
          .sample();
  EXPECT_TRUE(sample.devices.empty());
  EXPECT_NE(sample.trouble.find("BERTH_SIM"), std::string::npos);
}

TEST(ProcessFacts, AreReadAnewNowAndThen) {
  ProcessFacts facts;
  const std::int32_t self = ::getpid();
  const Instant start{seconds(5).ns};
  const ProcessSample first = facts.look(self, start);
  char name[16] = {};
  std::ifstream("/proc/self/comm") >> name;
  std::ofstream("/proc/self/comm") << "renamed";
  EXPECT_EQ(facts.look(self, start + milliseconds(4'900)).name, first.name);
  EXPECT_EQ(facts.look(self, start + milliseconds(5'000)).name, "renamed");
  std::ofstream("/proc/self/comm") << name;
}

}  // namespace
}  // namespace berth::gpu
