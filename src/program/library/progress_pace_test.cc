// SPDX-License-Identifier: Apache-2.0
#include "library/progress_pace.h"

#include <gtest/gtest.h>

namespace berth::library {
namespace {

constexpr Instant kStart = {1'000'000'000'000};

TEST(ProgressPace, OnceASecondAtMost) {
  ProgressPace pace;
  EXPECT_TRUE(pace.is_due(kStart, false));
  pace.sent(kStart, false);
  EXPECT_FALSE(pace.is_due(kStart + milliseconds(999), false));
  EXPECT_TRUE(pace.is_due(kStart + seconds(1), false));
}

TEST(ProgressPace, TheEndIsToldAtOnceAndOnce) {
  ProgressPace pace;
  pace.sent(kStart, false);
  EXPECT_TRUE(pace.is_due(kStart + milliseconds(1), true));
  pace.sent(kStart + milliseconds(1), true);
  EXPECT_FALSE(pace.is_due(kStart + milliseconds(2), true));
  EXPECT_TRUE(pace.is_due(kStart + seconds(2), true)) << "it goes on, perhaps with the next";
}

TEST(ProgressPace, AReportThatIsNotHeardWaits) {
  ProgressPace pace;
  pace.unheard(kStart);
  EXPECT_FALSE(pace.is_due(kStart + seconds(9), false));
  EXPECT_FALSE(pace.is_due(kStart + seconds(9), true));
  EXPECT_TRUE(pace.is_due(kStart + seconds(10), false));
}

}  // namespace
}  // namespace berth::library
