// SPDX-License-Identifier: Apache-2.0
#include "vram/thresholds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace berth::vram {
namespace {

using ::testing::HasSubstr;

TEST(Thresholds, OfSixteenGibAreTenTwelveAndFourteenByDefault) {
  const auto found = thresholds_of({}, gib(16));
  ASSERT_TRUE(found);
  EXPECT_NEAR(static_cast<double>(found->warn.value), 10.0 * (1U << 30U), 1e8);
  EXPECT_NEAR(static_cast<double>(found->cleanup.value), 12.0 * (1U << 30U), 1e8);
  EXPECT_NEAR(static_cast<double>(found->critical.value), 14.0 * (1U << 30U), 1e8);
}

TEST(Thresholds, OfAnUnknownWholeAreThereInBytesOnly) {
  EXPECT_FALSE(thresholds_of({}, std::nullopt));
  const Limits bytes = {.warn = {.bytes = gib(1), .share = 0},
                        .cleanup = {.bytes = gib(2), .share = 0},
                        .critical = {.bytes = gib(3), .share = 0}};
  EXPECT_EQ(thresholds_of(bytes, std::nullopt)->critical, gib(3));
}

TEST(Thresholds, OutOfOrderAreRefusedByName) {
  Limits limits;
  limits.warn.share = 0.8;
  const Status status = check(limits);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("warn"));
  EXPECT_THAT(status.error().message, HasSubstr("cleanup"));

  Limits bytes;
  bytes.cleanup.bytes = gib(3);
  bytes.critical.bytes = gib(2);
  EXPECT_FALSE(check(bytes).ok());
  // Of two kinds it shows only where the whole is known: then nothing is watched, not anything.
  Limits mixed;
  mixed.warn.bytes = gib(15);
  EXPECT_TRUE(check(mixed).ok());
  EXPECT_FALSE(thresholds_of(mixed, gib(16)));
}

TEST(Thresholds, SharesThatAreNoneAreRefused) {
  for (const double share : {0.0, -0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    Limits limits;
    limits.critical.share = share;
    EXPECT_FALSE(check(limits).ok()) << share;
  }
}

TEST(Thresholds, LevelFallsLaterThanItRises) {
  const Thresholds thresholds = {.warn = mib(1'000), .cleanup = mib(2'000), .critical = mib(3'000)};
  struct Case {
    std::uint64_t used_mib;
    Level before;
    Level after;
  };
  for (const Case& row : {
           Case{999, Level::kUnknown, Level::kNormal},
           Case{1'000, Level::kNormal, Level::kWarn},
           Case{951, Level::kWarn, Level::kWarn},
           Case{949, Level::kWarn, Level::kNormal},
           Case{3'000, Level::kNormal, Level::kCritical},
           Case{2'900, Level::kCritical, Level::kCritical},
           Case{2'900, Level::kCleanup, Level::kCleanup},
           Case{2'849, Level::kCritical, Level::kCleanup},
           Case{1'950, Level::kCritical, Level::kCleanup},
           Case{1'899, Level::kCritical, Level::kWarn},
       }) {
    EXPECT_EQ(level_of(thresholds, mib(row.used_mib), row.before), row.after) << row.used_mib;
  }
}

}  // namespace
}  // namespace berth::vram
