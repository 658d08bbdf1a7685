// SPDX-License-Identifier: Apache-2.0
#include "cli/run/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace berth::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

// The variables of this process that decide, as the test sets them and no others.
class EnvironmentTest : public testing::Test {
 protected:
  EnvironmentTest() { clear(); }
  ~EnvironmentTest() override { clear(); }
  static void clear() {
    for (const char* name :
         {"BERTH_LEASE_ID", "BERTH_LEASE", "BERTH_OUTER_LEASES", "CUDA_VISIBLE_DEVICES"}) {
      ::unsetenv(name);
    }
  }
  static wire::LeaseAnswer lease(wire::Environment env) {
    wire::LeaseAnswer answer;
    answer.view.id = {12};
    answer.view.parts = {{.device = {1, 1}, .index = 0}, {.device = {2, 2}, .index = 3}};
    answer.env = std::move(env);
    return answer;
  }
};

TEST_F(EnvironmentTest, OnlyKnownNamesAndPlainValuesAreTakenFromAnAnswer) {
  const wire::LeaseAnswer answer = lease({
      {"CUDA_VISIBLE_DEVICES", "0,3"},
      {"NVIDIA_VISIBLE_DEVICES", "GPU-1,GPU-2"},
      {"BERTH_LEASE_ID", "l_abc"},
      {"BERTH_SOCKET", "/somewhere/else"},
      {"LD_PRELOAD", "evil.so"},
      {"PATH", "x"},
      {"CUDA_INJECTION64_PATH", "/evil.so"},
      {"CUDA_CACHE_PATH", "a b"},
      {"BERTH_GPUS", std::string(5'000, 'G')},
  });
  const Result<Variables> variables = variables_for({.lease = answer, .socket = "/run/b.sock"});
  ASSERT_TRUE(variables.ok());
  EXPECT_THAT(variables->changes.set,
              ElementsAre(Pair("BERTH_LEASE_ID", "l_abc"), Pair("BERTH_SOCKET", "/run/b.sock"),
                          Pair("CUDA_VISIBLE_DEVICES", "0,3"),
                          Pair("NVIDIA_VISIBLE_DEVICES", "GPU-1,GPU-2")));
}

TEST_F(EnvironmentTest, NothingOfAnOuterLeaseIsLeft) {
  const wire::LeaseAnswer answer = lease({{"BERTH_LEASE_ID", "l_abc"}, {"BERTH_LEASE", "12"}});
  const Result<Variables> variables = variables_for({.lease = answer, .socket = "/s"});
  ASSERT_TRUE(variables.ok());
  EXPECT_THAT(variables->changes.unset,
              ElementsAre("BERTH_OUTER_LEASES", "BERTH_GPUS", "BERTH_VRAM_BYTES", "BERTH_LEASE_DIR",
                          "BERTH_ON_FULL", "BERTH_RESTART"));
}

TEST_F(EnvironmentTest, PresetDevicesNarrowTheLease) {
  const wire::LeaseAnswer answer =
      lease({{"CUDA_VISIBLE_DEVICES", "0,3"}, {"NVIDIA_VISIBLE_DEVICES", "GPU-1,GPU-2"}});
  const auto with = [&answer](const char* preset) {
    return variables_for({.lease = answer, .socket = "/s", .preset_devices = preset});
  };
  const Result<Variables> narrowed = with("3,7");
  ASSERT_TRUE(narrowed.ok());
  EXPECT_THAT(narrowed->changes.set, Contains(Pair("CUDA_VISIBLE_DEVICES", "3")));
  EXPECT_THAT(narrowed->changes.set, Contains(Pair("NVIDIA_VISIBLE_DEVICES", "GPU-2")));
  EXPECT_THAT(narrowed->narrowed, HasSubstr("the command sees GPU 3"));

  const Result<Variables> all = with("3,0,1");
  ASSERT_TRUE(all.ok());
  EXPECT_THAT(all->changes.set, Contains(Pair("CUDA_VISIBLE_DEVICES", "0,3")));
  EXPECT_THAT(all->narrowed, IsEmpty());

  for (const char* none : {"1", "", "-1"}) {
    ASSERT_FALSE(with(none).ok()) << none;
    EXPECT_THAT(with(none).error().message, HasSubstr("unset it"));
  }
}

TEST_F(EnvironmentTest, LibraryPathIsOursAndNotTheDaemons) {
  const wire::LeaseAnswer answer = lease({{"BERTH_X", "y"}, {"LD_LIBRARY_PATH", "elsewhere"}});
  const Result<Variables> without = variables_for({.lease = answer, .socket = "/s"});
  const Result<Variables> with =
      variables_for({.lease = answer, .socket = "/s", .library_path = "/lib/simgpu"});
  ASSERT_TRUE(without.ok() && with.ok());
  EXPECT_FALSE(without->changes.set.contains("LD_LIBRARY_PATH"));
  EXPECT_THAT(with->changes.set, Contains(Pair("LD_LIBRARY_PATH", "/lib/simgpu")));
}

TEST_F(EnvironmentTest, OuterLeasesAreKnownInnermostFirst) {
  EXPECT_EQ(outer_lease(), std::nullopt);
  const Handle handle{1, 2};
  ::setenv("BERTH_LEASE_ID", to_text(handle).c_str(), 1);
  ::setenv("BERTH_LEASE", "14", 1);
  ::setenv("BERTH_OUTER_LEASES", "12,,x,3", 1);
  const auto outer = outer_lease();
  ASSERT_TRUE(outer.has_value());
  EXPECT_EQ(outer->handle, handle);
  EXPECT_THAT(outer->ancestors, ElementsAre(LeaseId{14}, LeaseId{12}, LeaseId{3}));
  ::setenv("BERTH_LEASE_ID", "rubbish", 1);
  EXPECT_EQ(outer_lease()->handle, std::nullopt);
  ::setenv("BERTH_LEASE_ID", "", 1);
  EXPECT_FALSE(outer_lease().has_value());
}

TEST_F(EnvironmentTest, VisibleDevicesOfAnOuterLeaseAreNotTheUsers) {
  ::setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  EXPECT_EQ(preset_visible_devices(), "1");
  ::setenv("BERTH_LEASE_ID", to_text(Handle{1, 2}).c_str(), 1);
  EXPECT_EQ(preset_visible_devices(), std::nullopt);
}

}  // namespace
}  // namespace berth::cli
