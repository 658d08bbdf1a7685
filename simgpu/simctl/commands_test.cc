// SPDX-License-Identifier: Apache-2.0
#include "simgpu/simctl/commands.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "abi/nvml.h"
#include "simgpu/cuda/cuda_testing.h"

namespace berth::simgpu {
namespace {

using Json = nlohmann::json;

bool runs(World& world, const std::vector<std::string>& words) {
  return run_simctl(world, words).ok();
}

Json shown(World& world) {
  return Json::parse(*run_simctl(world, {"show"}));
}

TEST(Simctl, ShowsWhatTheDriverCounts) {
  const TemporaryWorld temporary("1x16GiB,1x24GiB");
  World world = temporary.open();
  ASSERT_TRUE(world.charge(*world.claim_slot(), 1, 100));
  const Json device = shown(world)["devices"][1];
  EXPECT_EQ(device["capacity_bytes"], gib(24).value);
  EXPECT_EQ(device["used_bytes"], 100 * kBlockBytes);
  EXPECT_EQ(device["used_max_bytes"], 100 * kBlockBytes);
  EXPECT_EQ(device["processes"][0]["used_bytes"], 100 * kBlockBytes);
  EXPECT_EQ(device["processes"][0]["ended"], false);
}

TEST(Simctl, UnmanagedMemoryIsTakenWhereItFitsAndGivenBack) {
  const TemporaryWorld temporary("1x16GiB");
  World world = temporary.open();
  ASSERT_TRUE(runs(world, {"unmanaged", "0", "2GiB"}));
  Json device = shown(world)["devices"][0];
  EXPECT_EQ(device["used_bytes"], gib(2).value);
  EXPECT_EQ(device["processes"][0]["pid"], kUnmanagedPid);
  ASSERT_TRUE(runs(world, {"unmanaged", "0", "1GiB", "4242", "graphics"}));
  device = shown(world)["devices"][0];
  EXPECT_EQ(device["unmanaged_bytes"], gib(1).value);
  EXPECT_EQ(device["processes"][0]["pid"], 4242);
  EXPECT_EQ(device["processes"][0]["type"], "graphics");
  EXPECT_FALSE(runs(world, {"unmanaged", "0", "17GiB"}));
  EXPECT_EQ(world.unmanaged_used(0), gib(1));
  ASSERT_TRUE(runs(world, {"unmanaged", "0", "1GiB", "unlisted"}));
  EXPECT_TRUE(shown(world)["devices"][0]["processes"].empty());
  ASSERT_TRUE(runs(world, {"stranger", "0", "0"}));
  EXPECT_EQ(world.figures(0).used, Bytes{});
}

TEST(Simctl, CapacityMayShrinkBelowWhatIsUsed) {
  const TemporaryWorld temporary("1x16GiB");
  World world = temporary.open();
  const std::uint32_t slot = *world.claim_slot();
  ASSERT_TRUE(world.charge(slot, 0, 1024));
  ASSERT_TRUE(runs(world, {"capacity", "0", "1GiB"}));
  EXPECT_EQ(world.figures(0).free, Bytes{});
  EXPECT_EQ(world.figures(0).used, gib(2));
  EXPECT_FALSE(world.charge(slot, 0, 1));
  ASSERT_TRUE(runs(world, {"capacity", "0", "16GiB"}));
  ASSERT_TRUE(runs(world, {"reserved", "0", "1GiB"}));
  EXPECT_EQ(world.figures(0).free, gib(13));
}

TEST(Simctl, UtilizationIsSetInPercentOrNotTold) {
  const TemporaryWorld temporary("1x16GiB");
  World world = temporary.open();
  EXPECT_TRUE(shown(world)["devices"][0]["utilization"].is_null());
  ASSERT_TRUE(runs(world, {"utilization", "0", "87", "40"}));
  EXPECT_EQ(shown(world)["devices"][0]["utilization"]["gpu"], 87);
  EXPECT_EQ(shown(world)["devices"][0]["utilization"]["memory"], 40);
  EXPECT_FALSE(runs(world, {"utilization", "0", "101"}));
  EXPECT_FALSE(runs(world, {"utilization", "1", "10"}));
  EXPECT_TRUE(shown(world)["devices"][0]["gauges"]["temperature"].is_null());
  ASSERT_TRUE(runs(world, {"gauge", "0", "temperature", "0"}));
  EXPECT_EQ(shown(world)["devices"][0]["gauges"]["temperature"], 0);
  EXPECT_FALSE(runs(world, {"gauge", "0", "warmth", "1"}));
  EXPECT_FALSE(runs(world, {"gauge", "0", "temperature", "4294967295"}));
  ASSERT_TRUE(runs(world, {"gauge", "0", "temperature", "off"}));
  EXPECT_TRUE(shown(world)["devices"][0]["gauges"]["temperature"].is_null());
  ASSERT_TRUE(runs(world, {"utilization", "0", "off"}));
  EXPECT_TRUE(shown(world)["devices"][0]["utilization"].is_null());
}

TEST(Simctl, FaultsAreSetAndShown) {
  const TemporaryWorld temporary("1x16GiB");
  World world = temporary.open();
  ASSERT_TRUE(runs(world, {"teardown", "500ms"}));
  ASSERT_TRUE(runs(world, {"nvml-error", "ERROR_GPU_IS_LOST", "3"}));
  ASSERT_TRUE(runs(world, {"nvml-hang", "60s"}));
  ASSERT_TRUE(runs(world, {"no-process-figures", "on"}));
  ASSERT_TRUE(runs(world, {"lose", "0"}));
  Json all = shown(world);
  EXPECT_EQ(all["faults"]["teardown_ms"], 500.0);
  EXPECT_EQ(all["faults"]["nvml_error"], nvml::kGpuIsLost);
  EXPECT_EQ(all["faults"]["nvml_errors_left"], 3);
  EXPECT_GT(all["faults"]["nvml_hang_ms"], 1'000.0);
  EXPECT_EQ(all["faults"]["process_figures"], false);
  EXPECT_EQ(all["devices"][0]["lost"], true);
  ASSERT_TRUE(runs(world, {"nvml-error", "0"}));
  ASSERT_TRUE(runs(world, {"nvml-hang", "0"}));
  ASSERT_TRUE(runs(world, {"no-process-figures", "off"}));
  ASSERT_TRUE(runs(world, {"find", "0"}));
  ASSERT_TRUE(runs(world, {"teardown", "0"}));
  all = shown(world);
  EXPECT_EQ(all["faults"]["nvml_error"], 0);
  EXPECT_EQ(all["faults"]["nvml_hang_ms"], 0.0);
  EXPECT_EQ(all["devices"][0]["lost"], false);
}

TEST(Simctl, CheckpointFaultsAreSetAndShown) {
  const TemporaryWorld temporary("1x16GiB");
  World world = temporary.open();
  ASSERT_TRUE(runs(world, {"checkpoint-error", "restore", "ERROR_OPERATING_SYSTEM", "2"}));
  ASSERT_TRUE(runs(world, {"checkpoint-hang", "60s"}));
  ASSERT_TRUE(runs(world, {"busy", "60s"}));
  ASSERT_TRUE(runs(world, {"checkpoint-memory", "8GiB"}));
  ASSERT_TRUE(runs(world, {"mode", "0", "mig"}));
  Json all = shown(world);
  EXPECT_EQ(all["faults"]["checkpoint_calls"]["restore"]["error"], 304);
  EXPECT_EQ(all["faults"]["checkpoint_calls"]["restore"]["errors_left"], 2);
  EXPECT_EQ(all["faults"]["checkpoint_calls"]["lock"]["error"], 0);
  EXPECT_GT(all["faults"]["checkpoint_hang_ms"], 1'000.0);
  EXPECT_GT(all["faults"]["busy_ms"], 1'000.0);
  EXPECT_EQ(all["checkpoint_memory"]["capacity_bytes"], gib(8).value);
  EXPECT_EQ(all["devices"][0]["mode"], "mig");
  ASSERT_TRUE(runs(world, {"checkpoint-error", "restore", "0"}));
  ASSERT_TRUE(runs(world, {"checkpoint-hang", "0"}));
  ASSERT_TRUE(runs(world, {"busy", "0"}));
  ASSERT_TRUE(runs(world, {"mode", "0", "usual"}));
  all = shown(world);
  EXPECT_EQ(all["faults"]["checkpoint_calls"]["restore"]["error"], 0);
  EXPECT_EQ(all["faults"]["checkpoint_hang_ms"], 0.0);
  EXPECT_EQ(all["faults"]["busy_ms"], 0.0);
  EXPECT_EQ(all["devices"][0]["mode"], "usual");
}

TEST(Simctl, ProcessesThatCanBeCheckpointedAreShownWithWhatWasSaved) {
  const TemporaryWorld temporary("1x16GiB,context=0");
  World world = temporary.open();
  Child victim([](Child& self) {
    CUdeviceptr pointer = 0;
    use_device(0);
    REQUIRE_OK(cuMemAlloc_v2(&pointer, kGiB));
    self.tell_parent();
    self.wait_for_parent();
  });
  ASSERT_TRUE(victim.wait_for_child());
  EXPECT_EQ(0, in_child([&] {
              REQUIRE_OK(cuCheckpointProcessLock(victim.pid(), nullptr));
              REQUIRE_OK(cuCheckpointProcessCheckpoint(victim.pid(), nullptr));
            }));
  const Json memory = shown(world)["checkpoint_memory"];
  EXPECT_EQ(memory["used_bytes"], kGiB);
  ASSERT_EQ(memory["processes"].size(), 1U);
  EXPECT_EQ(memory["processes"][0]["pid"], victim.pid());
  EXPECT_EQ(memory["processes"][0]["state"], "checkpointed");
  EXPECT_EQ(memory["processes"][0]["saved_bytes"], kGiB);
}

TEST(Simctl, EventsAreLinesOldestFirst) {
  const TemporaryWorld temporary("1x16GiB");
  World world = temporary.open();
  const std::uint32_t slot = *world.claim_slot();
  ASSERT_TRUE(world.charge(slot, 0, 3));
  world.release(slot, 0, 3);
  const std::string text = *run_simctl(world, {"events"});
  const std::size_t second = text.find('\n') + 1;
  EXPECT_EQ(Json::parse(text.substr(0, second))["change_bytes"], 3 * kBlockBytes);
  EXPECT_EQ(Json::parse(text.substr(second))["used_bytes"], 0);
  for (std::uint32_t i = 0; i < kEventsMax; ++i) {
    ASSERT_TRUE(world.charge(slot, 0, 1));
    world.release(slot, 0, 1);
  }
  const std::string later = *run_simctl(world, {"events"});
  EXPECT_EQ(std::count(later.begin(), later.end(), '\n'), kEventsMax);
}

TEST(Simctl, WhatIsNotSoIsRefusedAndNamed) {
  const TemporaryWorld temporary("1x16GiB");
  World world = temporary.open();
  const std::vector<std::string> wrong[] = {{},
                                            {"foo"},
                                            {"lose"},
                                            {"lose", "1"},
                                            {"lose", "-1"},
                                            {"show", "x"},
                                            {"teardown", "x"},
                                            {"nvml-error"},
                                            {"nvml-error", "FOO"},
                                            {"capacity", "0"},
                                            {"checkpoint-error", "lock"},
                                            {"checkpoint-error", "freeze", "304"},
                                            {"checkpoint-error", "lock", "FOO"},
                                            {"mode", "0", "shared"},
                                            {"no-process-figures", "yes"},
                                            {"unmanaged", "0", "2GiB", "x"}};
  for (const std::vector<std::string>& words : wrong) {
    const Result<std::string> shown = run_simctl(world, words);
    ASSERT_FALSE(shown.ok());
    EXPECT_FALSE(shown.error().message.empty());
  }
}

}  // namespace
}  // namespace berth::simgpu
