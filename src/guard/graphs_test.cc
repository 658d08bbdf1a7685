// SPDX-License-Identifier: Apache-2.0
#include "guard/graphs.h"

#include <gtest/gtest.h>

#include <memory>

namespace berth::guard {
namespace {

constexpr Graphs::Handle kExec = 0x7000;

Graphs::Needs one(std::uint64_t bytes) {
  Graphs::Needs needs{};
  needs.add(2, bytes);
  return needs;
}

void trim(Graphs& graphs, std::uint32_t ordinal) {
  EXPECT_TRUE(graphs.begin_trim(ordinal));
  graphs.end_trim(ordinal);
}

TEST(Graphs, NeedsAreMissingUntilTheyAreReservedAndAgainAfterATrim) {
  const auto graphs = std::make_unique<Graphs>();
  EXPECT_FALSE(graphs->any());
  graphs->made(kExec, one(100));
  EXPECT_TRUE(graphs->any());
  const Graphs::Needs missing = graphs->missing(kExec);
  ASSERT_EQ(missing.count, 1U);
  EXPECT_EQ(missing.of[0].ordinal, 2U);
  EXPECT_EQ(missing.of[0].bytes, 100U);
  graphs->reserved(missing);
  EXPECT_EQ(graphs->missing(kExec).count, 0U);
  trim(*graphs, 1);
  EXPECT_EQ(graphs->missing(kExec).count, 0U);
  trim(*graphs, 2);
  EXPECT_EQ(graphs->missing(kExec).count, 1U);
  graphs->reserved(missing);  // That was before the trim.
  EXPECT_EQ(graphs->missing(kExec).count, 1U);
}

TEST(Graphs, WhatALaunchCountsOnIsNotTrimmedBeforeItIsMade) {
  const auto graphs = std::make_unique<Graphs>();
  Graphs::Launch launch{};
  graphs->made(kExec, one(100));
  EXPECT_FALSE(graphs->begin_launch(kExec, {}, launch));  // Nothing was charged.
  const Graphs::Needs missing = graphs->missing(kExec);
  ASSERT_TRUE(graphs->begin_launch(kExec, missing, launch));
  EXPECT_FALSE(graphs->begin_trim(2));
  graphs->end_trim(2);
  EXPECT_TRUE(graphs->begin_trim(1));
  graphs->gone(kExec);  // Even of one that is destroyed meanwhile the end is seen.
  graphs->end_launch(launch);
  EXPECT_TRUE(graphs->begin_trim(2));
}

TEST(Graphs, WhatIsReservedDuringATrimIsNotBelievedToBe) {
  const auto graphs = std::make_unique<Graphs>();
  Graphs::Launch launch{};
  graphs->made(kExec, one(100));
  ASSERT_TRUE(graphs->begin_trim(2));
  const Graphs::Needs missing = graphs->missing(kExec);
  ASSERT_TRUE(graphs->begin_launch(kExec, missing, launch));
  graphs->end_launch(launch);
  graphs->reserved(missing);
  EXPECT_FALSE(graphs->begin_launch(kExec, {}, launch));
  graphs->end_trim(2);
  EXPECT_FALSE(graphs->begin_launch(kExec, {}, launch));
}

TEST(Graphs, EachDeviceIsCountedByItself) {
  const auto graphs = std::make_unique<Graphs>();
  Graphs::Needs needs{};
  needs.add(0, 100);
  needs.add(3, UINT64_MAX - 10);
  needs.add(0, 50);
  needs.add(3, 100);
  graphs->made(kExec, needs);
  Graphs::Needs missing = graphs->missing(kExec);
  ASSERT_EQ(missing.count, 2U);
  EXPECT_EQ(missing.of[0].bytes, 150U);
  EXPECT_EQ(missing.of[1].bytes, UINT64_MAX);
  graphs->reserved(missing);
  trim(*graphs, 3);
  missing = graphs->missing(kExec);
  ASSERT_EQ(missing.count, 1U);
  EXPECT_EQ(missing.of[0].ordinal, 3U);
}

TEST(Graphs, AHandleThatIsUsedAgainBeginsAnew) {
  const auto graphs = std::make_unique<Graphs>();
  Graphs::Needs two = one(100);
  two.add(5, 100);
  graphs->made(kExec, two);
  graphs->reserved(graphs->missing(kExec));
  graphs->made(kExec, one(7));
  ASSERT_EQ(graphs->missing(kExec).count, 1U);
  EXPECT_EQ(graphs->missing(kExec).of[0].bytes, 7U);
  graphs->made(kExec, {});  // One that does not allocate.
  EXPECT_EQ(graphs->missing(kExec).count, 0U);
  graphs->made(kExec, one(7));
  graphs->gone(kExec);
  EXPECT_EQ(graphs->missing(kExec).count, 0U);
}

}  // namespace
}  // namespace berth::guard
