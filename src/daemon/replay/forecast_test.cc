// SPDX-License-Identifier: Apache-2.0
#include "replay/forecast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

namespace berth::replay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr UnixMs kNow{1'700'000'000'000};
constexpr UserId kAna{1000};

class Forecast : public testing::Test {
 protected:
  Forecast() { add_device(); }
  void add_device() {
    const std::uint64_t n = devices.size();
    devices.push_back({.id = {0xd0, n},
                       .index = static_cast<std::uint32_t>(n),
                       .model = "A",
                       .capacity = gib(16),
                       .used = Bytes{},
                       .held_back = gib(1)});
  }
  static Expected asks(Bytes vram, std::optional<Duration> eta = {}) {
    return {.request = {.vram = vram, .eta = eta}, .user = kAna};
  }
  Expected runs(Bytes vram, std::optional<Duration> ends) const {
    Expected one = asks(vram);
    one.running = Expected::Running{.parts = {{devices[0].id, vram}}, .ends = ends};
    return one;
  }
  static Expected after(Expected one, std::uint64_t other, Ends ends = Ends::kOk) {
    one.request.after.push_back({.lease = {other}, .ends = ends});
    return one;
  }
  std::vector<Prospect> of(const std::vector<Expected>& expected) const {
    return forecast(devices, expected, settings, kNow);
  }
  std::vector<std::optional<Duration>> starts(const std::vector<Expected>& expected) const {
    std::vector<std::optional<Duration>> all;
    for (const Prospect& one : of(expected)) all.push_back(one.starts);
    return all;
  }

  std::vector<DeviceView> devices;
  core::Settings settings{.order = Order::kFifo};
};

TEST_F(Forecast, WhatFitsStartsAtOnceAndEndsAsItSays) {
  const auto told = of({asks(gib(8), hours(2)), asks(gib(7))});
  EXPECT_EQ(told[0].starts, Duration{});
  EXPECT_EQ(told[0].ends, hours(2));
  EXPECT_EQ(told[0].reason, std::nullopt);
  EXPECT_EQ(told[1].starts, Duration{});
  EXPECT_EQ(told[1].ends, std::nullopt);
}

TEST_F(Forecast, WhatIsHeldBackIsNotGranted) {
  EXPECT_THAT(starts({asks(gib(15))}), ElementsAre(Duration{}));
  EXPECT_THAT(starts({asks(gib(15) + mib(1))}), ElementsAre(std::nullopt));
}

TEST_F(Forecast, OneThatDoesNotFitStartsWhenAnotherEndsAndSaysWhose) {
  const auto told = of({runs(gib(10), minutes(30)), asks(gib(8), hours(1))});
  EXPECT_EQ(told[0].starts, Duration{});
  EXPECT_EQ(told[0].ends, minutes(30));
  EXPECT_EQ(told[1].starts, minutes(30));
  EXPECT_EQ(told[1].ends, minutes(90));
  EXPECT_EQ(told[1].reason, WhyView::Reason::kMemory);
  EXPECT_THAT(told[1].holders, ElementsAre(0));
}

TEST_F(Forecast, WhereNoEndIsKnownNoStartIs) {
  const auto told = of({runs(gib(10), std::nullopt), asks(gib(8))});
  EXPECT_EQ(told[1].starts, std::nullopt);
  EXPECT_EQ(told[1].reason, WhyView::Reason::kMemory);
}

TEST_F(Forecast, APredecessorIsWaitedFor) {
  const auto told = of({asks(gib(1), minutes(10)), after(asks(gib(1), minutes(5)), 1),
                        after(asks(gib(1)), 2, Ends::kAny)});
  EXPECT_EQ(told[1].starts, minutes(10));
  EXPECT_EQ(told[1].reason, WhyView::Reason::kAfter);
  EXPECT_EQ(told[2].starts, minutes(15));
}

TEST_F(Forecast, AnEndThatWouldHaveToBeAFailureIsNotExpected) {
  EXPECT_EQ(of({asks(gib(1), minutes(10)), after(asks(gib(1)), 1, Ends::kFailed)})[1].starts,
            std::nullopt);
}

TEST_F(Forecast, ALimitEndsWhatIsExpectedToTakeLonger) {
  Expected one = asks(gib(15), hours(2));
  one.request.limit = hours(1);
  EXPECT_THAT(starts({one, asks(gib(15))}), ElementsAre(Duration{}, hours(1)));
}

TEST_F(Forecast, MembersOfASetTakeTheirTurns) {
  Expected set = asks(gib(5), minutes(10));
  set.request.members = 7;
  const auto told = of({set, after(asks(gib(1)), 1)});
  EXPECT_EQ(told[0].starts, Duration{});
  EXPECT_EQ(told[0].ends, minutes(30));  // Three at a time.
  EXPECT_EQ(told[1].starts, minutes(30));
  set.running_max = 1;
  EXPECT_EQ(of({set})[0].ends, minutes(70));
}

TEST_F(Forecast, ATimeToStartAtIsWaitedFor) {
  Expected later = asks(gib(1), minutes(10));
  later.request.not_before = UnixMs{kNow.value + 20 * 60'000};
  const auto told = of({later});
  ASSERT_TRUE(told[0].starts);
  EXPECT_GE(*told[0].starts, minutes(20));
  EXPECT_LE(*told[0].starts, minutes(21));
  EXPECT_EQ(told[0].reason, WhyView::Reason::kNotBefore);
}

TEST_F(Forecast, TheOrderIsThatOfTheSettings) {
  settings.order = Order::kPriority;
  Expected low = asks(gib(15), minutes(5));
  low.request.priority = Priority::kLow;
  Expected high = low;
  high.request.priority = Priority::kHigh;
  EXPECT_THAT(starts({runs(gib(15), minutes(1)), low, high}),
              ElementsAre(Duration{}, minutes(6), minutes(1)));
}

TEST_F(Forecast, ATierSaysWhatARequestDoesNot) {
  settings.order = Order::kPriority;
  settings.tiers = {{"fast", {.priority = Priority::kHigh}}};
  Expected fast = asks(gib(15), minutes(5));
  fast.request.tier = "fast";
  fast.named = {};
  EXPECT_THAT(starts({runs(gib(15), minutes(1)), asks(gib(15), minutes(5)), fast}),
              ElementsAre(Duration{}, minutes(6), minutes(1)));
}

TEST_F(Forecast, EachDeviceIsUsed) {
  add_device();
  EXPECT_THAT(starts({asks(gib(12), minutes(1)), asks(gib(12), minutes(1)), asks(gib(12))}),
              ElementsAre(Duration{}, Duration{}, minutes(1)));
}

TEST_F(Forecast, OfNothingIsNothing) {
  EXPECT_THAT(of({}), IsEmpty());
}

}  // namespace
}  // namespace berth::replay
