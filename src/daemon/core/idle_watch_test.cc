// SPDX-License-Identifier: Apache-2.0
// Leases that compute nothing.
#include "core/idle_watch.h"

#include <gtest/gtest.h>

#include "core/limits.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;

constexpr int kSettled = 60;  // Seconds.
static_assert(limits::kIdleSettled == seconds(kSettled));

class Idle : public StoryTest {
 protected:
  Idle() : StoryTest({.order = Order::kFifo, .reserve = {}}, {gib(16), gib(16)}) {
    computes(0);
    computes(0, 1);
    (void)story.ask(S::budget(gib(6)));
    run(1, gib(4));
  }

  void computes(std::uint32_t percent, std::size_t on = 0) {
    story.hardware[on].figures.gpu_utilization = percent;
  }
  bool is_idle(std::uint64_t id = 1) const { return lease(id).idle_since.has_value(); }
  UnixMs rested() const { return {story.now.wall.value - seconds(kSettled).ns / 1'000'000}; }
};

TEST_F(Idle, IsALeaseThatHasRestedForAMinuteAndSinceThen) {
  (void)seconds_pass(kSettled - 1);
  EXPECT_FALSE(is_idle());
  (void)seconds_pass(1);
  ASSERT_TRUE(is_idle());
  EXPECT_EQ(lease().idle_since, rested());
  const UnixMs since = rested();
  (void)seconds_pass(100);
  EXPECT_EQ(lease().idle_since, since);
}

TEST_F(Idle, EndsAtOnceWhenTheDeviceComputes) {
  (void)seconds_pass(kSettled);
  ASSERT_TRUE(is_idle());
  computes(1);
  (void)story.second();
  EXPECT_FALSE(is_idle());
  computes(0);
  (void)seconds_pass(kSettled);
  EXPECT_FALSE(is_idle());
  (void)seconds_pass(1);
  EXPECT_TRUE(is_idle());
}

TEST_F(Idle, EndsAtOnceWhenItsMemoryChanges) {
  (void)seconds_pass(kSettled);
  story.use(1, gib(4) + mib(2));
  (void)story.second();
  EXPECT_FALSE(is_idle());
  (void)seconds_pass(kSettled);
  EXPECT_TRUE(is_idle());
}

TEST_F(Idle, IsNotKnownWhereTheDriverDoesNotTell) {
  (void)seconds_pass(kSettled);
  ASSERT_TRUE(is_idle());
  story.hardware[0].figures.gpu_utilization.reset();
  (void)story.second();
  EXPECT_FALSE(is_idle());
  computes(0);
  story.hardware[0].processes->front().used.reset();
  (void)seconds_pass(2 * kSettled);
  EXPECT_FALSE(is_idle());
}

TEST_F(Idle, IsNotKnownAfterATimeWithoutLooks) {
  (void)seconds_pass(kSettled);
  (void)story.pass(limits::kIdleLookMax + seconds(1));
  (void)story.sample();
  EXPECT_FALSE(is_idle());
}

TEST_F(Idle, NeedsAllItsDevicesToRest) {
  Request both = S::budget(gib(2));
  both.device_count = 2;
  (void)story.ask(both);
  run(2, gib(1));
  computes(50, 1);
  (void)seconds_pass(2 * kSettled);
  EXPECT_TRUE(is_idle(1));
  EXPECT_FALSE(is_idle(2));
}

TEST_F(Idle, IsNoLeaseThatIsFrozen) {
  (void)seconds_pass(kSettled);
  (void)story.feed(Freeze{{9}, {{1000}}, {1}, {}});
  EXPECT_FALSE(is_idle());
  (void)transfer_done();
  (void)seconds_pass(2 * kSettled);
  EXPECT_FALSE(is_idle());
}

TEST_F(Idle, OutlivesTheDaemonUnlessTheFirstLookShowsThatItIsOver) {
  (void)seconds_pass(kSettled + 5);
  const std::optional<UnixMs> since = lease().idle_since;
  ASSERT_TRUE(since);
  for (const bool by_snapshot : {false, true}) {
    by_snapshot ? story.restart_from_snapshot() : story.restart();
    EXPECT_EQ(lease().idle_since, since) << by_snapshot;
    (void)seconds_pass(3);
    EXPECT_EQ(lease().idle_since, since) << by_snapshot;
  }
  story.restart();
  computes(30);
  (void)story.second();
  EXPECT_FALSE(is_idle());
}

TEST_F(Idle, IsWrittenDownWhenItBeginsAndEndsAlone) {
  (void)seconds_pass(3 * kSettled);
  computes(30);
  (void)seconds_pass(kSettled);
  std::vector<bool> written;
  for (const Effect& effect : story.effects) {
    const auto* append = std::get_if<Append>(&effect);
    const auto* fact = append == nullptr ? nullptr : std::get_if<LeaseIdle>(&append->record.fact);
    if (fact != nullptr) written.push_back(fact->since.has_value());
  }
  EXPECT_EQ(written, (std::vector{true, false}));
}

TEST_F(Idle, IsNoLeaseThatWasSuspendedAndRunsAgain) {
  (void)seconds_pass(kSettled);
  (void)story.feed(Suspend{{9}, {{1000}}, {1}, {}});
  EXPECT_FALSE(is_idle());
  (void)transfer_done();
  story.use(1, {});
  (void)story.second();
  EXPECT_FALSE(is_idle());
  (void)story.feed(Resume{{9}, {{1000}}, {1}});
  (void)story.second();
  (void)transfer_done();
  EXPECT_EQ(lease().state, LeaseState::kHeld);
  story.use(1, gib(4));
  (void)story.second();
  EXPECT_FALSE(is_idle());
  (void)seconds_pass(kSettled);
  EXPECT_TRUE(is_idle());
}

}  // namespace
}  // namespace berth::core
