// SPDX-License-Identifier: Apache-2.0
#include "simgpu/world/spec.h"

#include <gtest/gtest.h>

namespace berth::simgpu {
namespace {

TEST(Spec, CountsSizesAndModelsMakeDevicesInOrder) {
  const Result<WorldSpec> spec =
      parse_spec("2x16GiB:RTX-5080,24G,context=64MiB,reserved=256MiB,cuda=11.4");
  ASSERT_TRUE(spec.ok());
  ASSERT_EQ(spec->devices.size(), 3U);
  EXPECT_EQ(spec->devices[1].model, "RTX-5080");
  EXPECT_EQ(spec->devices[1].capacity, gib(16));
  EXPECT_EQ(spec->devices[2].model, "GPU");
  EXPECT_EQ(spec->devices[2].capacity, gib(24));
  EXPECT_EQ(spec->context, mib(64));
  EXPECT_EQ(spec->reserved, mib(256));
  EXPECT_EQ(spec->cuda, 11040);
  EXPECT_EQ(parse_spec("16GiB")->cuda, 12090);
}

TEST(Spec, ContextOverheadIs300MiBUnlessToldOtherwise) {
  EXPECT_EQ(parse_spec("1x16GiB")->context, mib(300));
  EXPECT_EQ(parse_spec("1x16GiB,context=0")->context, mib(0));
}

TEST(Spec, ADriverTellsWhatAContextCostsUnlessToldOtherwise) {
  EXPECT_TRUE(parse_spec("1x16GiB")->context_known);
  EXPECT_TRUE(parse_spec("1x16GiB,context_known=yes")->context_known);
  EXPECT_FALSE(parse_spec("1x16GiB,context_known=no")->context_known);
}

TEST(Spec, EntryPointsAreTheExportsUnlessToldOtherwise) {
  EXPECT_FALSE(parse_spec("1x16GiB")->entry_points_apart);
  EXPECT_FALSE(parse_spec("1x16GiB,entry_points=exported")->entry_points_apart);
  EXPECT_TRUE(parse_spec("1x16GiB,entry_points=apart")->entry_points_apart);
  EXPECT_FALSE(parse_spec("1x16GiB,entry_points=elsewhere").ok());
}

TEST(Spec, CheckpointsTakeNoTimeUnlessToldOtherwise) {
  const Result<WorldSpec> spec = parse_spec(
      "1x16GiB,checkpoint_bandwidth=5GiB/s,checkpoint_cost=350ms,checkpoint_memory=64GiB");
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->checkpoint_bandwidth, gib(5));
  EXPECT_EQ(spec->checkpoint_cost, milliseconds(350));
  EXPECT_EQ(spec->checkpoint_memory, gib(64));
  EXPECT_EQ(parse_spec("1x16GiB,checkpoint_bandwidth=5G")->checkpoint_bandwidth, gib(5));
  EXPECT_EQ(parse_spec("1x16GiB")->checkpoint_bandwidth, Bytes{});
  EXPECT_EQ(parse_spec("1x16GiB")->checkpoint_cost, Duration{});
  EXPECT_EQ(parse_spec("1x16GiB")->checkpoint_memory, gib(1024));
}

TEST(Spec, WhatCannotBeAWorldIsRefusedAndNamed) {
  const char* const wrong[] = {"",
                               "16",
                               "0x16GiB",
                               "17x1GiB",
                               "-1x16GiB",
                               "x16GiB",
                               "2x",
                               "2x16GiB,",
                               "2x16GiB,,",
                               "context=1G",
                               "1x16GiB:",
                               "1x16GiB:a/b",
                               "1x2TiB",
                               "1x16GiB,a=1",
                               "1x1G,reserved=1G",
                               "1x1G,cuda=11",
                               "1x1G,cuda=",
                               "1x1G,context_known=maybe",
                               "1x1G,context=1G/s",
                               "1x1G,checkpoint_cost=1G",
                               "1x1G,checkpoint_bandwidth=1s"};
  for (const char* text : wrong) {
    const Result<WorldSpec> spec = parse_spec(text);
    ASSERT_FALSE(spec.ok()) << text;
    EXPECT_NE(spec.error().message.find("BERTH_SIM"), std::string::npos);
  }
}

}  // namespace
}  // namespace berth::simgpu
