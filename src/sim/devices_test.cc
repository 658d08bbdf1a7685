// SPDX-License-Identifier: Apache-2.0
#include "sim/devices.h"

#include <gtest/gtest.h>

#include "sim/context.h"

namespace berth::sim {
namespace {

/// One process with 2 GiB on the only GPU.
class DevicesTest : public testing::Test {
 protected:
  DevicesTest() { EXPECT_TRUE(devices.allocate(process, 0, gib(2))); }

  SimContext context{1, false};
  Processes processes{context, 0};
  Process process = processes.spawn({});
  Devices devices{context,
                  processes,
                  {{.id = {1, 2, false},
                    .model = "GPU",
                    .capacity = gib(16),
                    .figures = {},
                    .lost = false,
                    .uses = {}}},
                  {}};
};

TEST_F(DevicesTest, NothingIsLeftOnADeviceThatWasLost) {
  devices.lose(0);
  EXPECT_FALSE(devices.has_memory(process));
  devices.find_again(0);
  EXPECT_FALSE(devices.has_memory(process));
}

TEST_F(DevicesTest, NorWhereItIsBackBecauseAllIsCalm) {
  devices.lose(0);
  devices.calm();
  EXPECT_FALSE(devices.at(0).lost);
  EXPECT_FALSE(devices.has_memory(process));
}

TEST_F(DevicesTest, WhoLivesKeepsWhatItHasWhenAllIsCalm) {
  devices.calm();
  EXPECT_TRUE(devices.has_memory(process));
}

TEST_F(DevicesTest, WhatTheDeadHadIsKnownForAsLongAsASampleMayTellOfIt) {
  EXPECT_TRUE(devices.of_the_dead({}).empty());
  processes.end(process, {});
  ASSERT_EQ(devices.of_the_dead(context.clock.instant()).size(), 1U);
  while (devices.lists(process)) context.clock.step();
  const Instant gone = context.clock.instant();
  EXPECT_EQ(devices.of_the_dead(gone + seconds(-1)).size(), 1U);
  EXPECT_TRUE(devices.of_the_dead(gone + seconds(1)).empty());
}

}  // namespace
}  // namespace berth::sim
