// SPDX-License-Identifier: Apache-2.0
#include "base/simulated.h"

#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

TEST(SimulatedWorldName, IsTheGivenNameOrFollowsFromTheSpec) {
  EXPECT_EQ(simulated_world_name("1x16GiB", "mine"), "mine");
  EXPECT_EQ(simulated_world_name("", ""), "w811c9dc5");  // FNV-1a of nothing.
  EXPECT_EQ(simulated_world_name("a", ""), "we40c292c");
  EXPECT_NE(simulated_world_name("1x16GiB", ""), simulated_world_name("2x16GiB", ""));
}

TEST(SimulatedDevices, AreANumberASizeAndAModel) {
  const auto devices = parse_simulated_devices("2x16GiB:RTX-5080");
  ASSERT_TRUE(devices.ok());
  EXPECT_EQ(devices->count, 2u);
  EXPECT_EQ(devices->capacity, gib(16));
  EXPECT_EQ(devices->model, "RTX-5080");
  for (const char* good : {"1x16GiB", "8x80GiB:H100,cuda=11.4", "16GiB,checkpoint_cost=1s"}) {
    EXPECT_TRUE(check_simulated_devices(good).ok()) << good;
  }
  for (const char* bad : {"banana", "2x16", "0x16GiB", "1x16GiB,", "1x16GiB:a;b", ""}) {
    const Status checked = check_simulated_devices(bad);
    ASSERT_FALSE(checked.ok()) << bad;
    EXPECT_NE(checked.error().message.find("write for example 2x16GiB"), std::string::npos);
  }
}

TEST(SimulatedLibraryPath, PutsTheSimulatedDriverFirstAndOnce) {
  const std::string ours = "/opt/berth/bin/../lib/simgpu";
  EXPECT_EQ(simulated_library_path("/opt/berth/bin/berth", ""), ours);
  EXPECT_EQ(simulated_library_path("/opt/berth/bin/berth", "/a:/b"), ours + ":/a:/b");
  EXPECT_EQ(simulated_library_path("/opt/berth/bin/berth", ours), ours);
  EXPECT_EQ(simulated_library_path("/opt/berth/bin/berth", ours + ":/a"), ours + ":/a");
  EXPECT_EQ(simulated_library_path("/opt/berth/bin/berth", ours + "x"), ours + ":" + ours + "x");
  EXPECT_EQ(simulated_library_path("/opt/berth/bin/berth", "/a:" + ours), ours + ":/a:" + ours);
}

TEST(SimulatedLibraryPath, PutsTheDriverOfTheCudaThatIsAskedForBeforeIt) {
  const std::string ours = "/opt/berth/bin/../lib/simgpu";
  const std::string both = ours + "/cuda-11.4:" + ours;
  for (const char* spec : {"2x16GiB,cuda=11.4", "cuda=11.4,2x16GiB"}) {
    EXPECT_EQ(simulated_library_path("/opt/berth/bin/berth", "/a", spec), both + ":/a");
    EXPECT_EQ(simulated_library_path("/opt/berth/bin/berth", both + ":/a", spec), both + ":/a");
  }
  EXPECT_EQ(simulated_library_path("/opt/berth/bin/berth", "", "2x16GiB,cuda=../x"),
            ours + "/cuda-..:" + ours);
}

}  // namespace
}  // namespace berth
