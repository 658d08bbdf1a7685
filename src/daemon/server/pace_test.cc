// SPDX-License-Identifier: Apache-2.0
#include "server/pace.h"

#include <gtest/gtest.h>

namespace berth::server {
namespace {

constexpr UserId kRests{1001};
constexpr UserId kAsks{1002};
constexpr PaceLimits kTenASecond{.per_second = 10, .at_once = 3};
constexpr Instant kPaceBegins{1'000'000'000'000};

TEST(Pace, SoManyAtOnceAndThenSoManyASecond) {
  Pace pace;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(pace.ask(kAsks, kPaceBegins, kTenASecond)) << i;
  EXPECT_EQ(pace.ask(kAsks, kPaceBegins, kTenASecond), milliseconds(100));
  EXPECT_EQ(pace.ask(kAsks, kPaceBegins + milliseconds(60), kTenASecond), milliseconds(40))
      << "asking too early makes nobody wait for longer";
  EXPECT_FALSE(pace.ask(kAsks, kPaceBegins + milliseconds(100), kTenASecond));
  EXPECT_EQ(pace.ask(kAsks, kPaceBegins + milliseconds(100), kTenASecond), milliseconds(100));
}

TEST(Pace, OneUserIsNotHeldUpByAnother) {
  Pace pace;
  for (int i = 0; i < 10; ++i) (void)pace.ask(kAsks, kPaceBegins, kTenASecond);
  EXPECT_FALSE(pace.ask(kRests, kPaceBegins, kTenASecond));
}

TEST(Pace, AUserWhoRestsHasAllOfItAgainAndNoMore) {
  Pace pace;
  for (int i = 0; i < 3; ++i) (void)pace.ask(kAsks, kPaceBegins, kTenASecond);
  const Instant later = kPaceBegins + seconds(100);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(pace.ask(kAsks, later, kTenASecond)) << i;
  EXPECT_TRUE(pace.ask(kAsks, later, kTenASecond));
}

TEST(Pace, WithoutABoundNothingCounts) {
  Pace pace;
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(pace.ask(kAsks, kPaceBegins, {.per_second = 0}));
  EXPECT_EQ(pace.users(), 0u);
}

TEST(Pace, AReloadWithLessMakesNobodyWaitForWhatTheyHadBefore) {
  Pace pace;
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_FALSE(pace.ask(kAsks, kPaceBegins, {.per_second = 1, .at_once = 1'000}));
  }
  EXPECT_EQ(pace.ask(kAsks, kPaceBegins, kTenASecond), milliseconds(100));
}

TEST(Pace, UsersWhoRestAreForgotten) {
  Pace pace;
  for (std::uint32_t i = 0; i < 5'000; ++i) {
    (void)pace.ask(UserId{i}, kPaceBegins + seconds(i), kTenASecond);
  }
  EXPECT_LE(pace.users(), Pace::kUsersMax);
}

}  // namespace
}  // namespace berth::server
