// SPDX-License-Identifier: Apache-2.0
// `fair`: users take turns, then the sessions of each. docs/scheduling.md, «The order of the
// queue».
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "core/limits.h"
#include "core/share.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

constexpr std::uint32_t kAlice = 1;
constexpr std::uint32_t kBob = 2;

class FairTest : public StoryTest {
 protected:
  FairTest() : StoryTest({.order = Order::kFair, .reserve = {}}) {}

  std::string ask(std::uint32_t user, std::string session, Bytes vram = gib(15)) {
    Request request = Story::budget(vram);
    request.session = std::move(session);
    return story.ask(std::move(request), user);
  }
  std::string ask_anew(std::uint32_t user) { return ask(user, "s" + std::to_string(++names_)); }
  std::vector<LeaseId> queue() const { return story.coordinator.queue(story.now); }

  int names_ = 0;
};

TEST_F(FairTest, FreshSessionNamesKeepNobodyWaiting) {
  (void)ask(kAlice, "");
  (void)story.claim(1);
  (void)story.pass(seconds(5));
  for (int i = 0; i < 6; ++i) (void)ask_anew(kBob);  // 2 to 7
  EXPECT_EQ(story.end(1), "held 1; end 1; grant 2; ");
  (void)ask(kAlice, "");  // 8
  std::uint64_t runs = 2;
  for (int served = 0; served < 3; ++served) {
    (void)story.claim(runs);
    (void)story.pass(seconds(5));
    (void)ask_anew(kBob);
    (void)story.end(runs);
    if (story.state(8) == LeaseState::kHeld) break;
    ++runs;
  }
  EXPECT_EQ(story.state(8), LeaseState::kHeld);
  EXPECT_EQ(runs, 2U) << "she had had less than he";
}

TEST_F(FairTest, WhatAUserHasHadIsThatOfAllSessions) {
  const auto run = [&](std::uint32_t user, const std::string& session, Duration time) {
    (void)ask(user, session);
    const std::uint64_t id = story.handles;
    (void)story.claim(id);
    (void)story.pass(time);
    (void)story.end(id);
  };
  run(kBob, "a", seconds(100));
  run(kAlice, "", seconds(50));
  run(kBob, "z", seconds(1));
  (void)ask(9, "");  // 4
  (void)story.claim(4);
  (void)ask(kBob, "z");
  (void)ask(kAlice, "");
  EXPECT_EQ(queue(), (std::vector<LeaseId>{{6}, {5}}));
}

TEST_F(FairTest, UsersAlternateHoweverManySessionsOneHas) {
  (void)ask(9, "");
  for (int i = 0; i < 4; ++i) (void)ask_anew(kBob);            // 2 to 5
  for (int i = 0; i < 3; ++i) (void)ask(kAlice, "", gib(15));  // 6 to 8
  EXPECT_EQ(queue(), (std::vector<LeaseId>{{2}, {6}, {3}, {7}, {4}, {8}, {5}}));
}

TEST_F(FairTest, SessionsOfOneUserAlternate) {
  (void)ask(9, "");
  for (int i = 0; i < 3; ++i) (void)ask(kBob, "sweep");  // 2 to 4
  (void)ask(kBob, "notebook");                           // 5
  (void)ask(kAlice, "");                                 // 6
  EXPECT_EQ(queue(), (std::vector<LeaseId>{{2}, {6}, {5}, {3}, {4}}));
}

TEST_F(FairTest, ASessionThatHadLessComesBeforeAnotherOfItsUser) {
  (void)ask(kBob, "sweep");  // 1
  (void)story.claim(1);
  (void)story.pass(minutes(5));
  (void)ask(kBob, "sweep");     // 2
  (void)ask(kBob, "notebook");  // 3
  (void)ask(kAlice, "");        // 4
  EXPECT_EQ(queue(), (std::vector<LeaseId>{{4}, {3}, {2}}));
}

TEST_F(FairTest, WhatSessionsHoldNowCountsForTheirUser) {
  story = Story({.order = Order::kFair, .reserve = {}}, {gib(16), gib(16)});
  (void)ask(kBob, "a");   // 1
  (void)ask(9, "");       // 2
  (void)ask(kBob, "b");   // 3
  (void)ask(kAlice, "");  // 4
  EXPECT_EQ(queue(), (std::vector<LeaseId>{{4}, {3}}));
}

double sum_of(const Shares& shares, UserId user, Instant now) {
  double sum = 0;
  for (const auto& [session, usage] : shares.users().at(user)) sum += share_at(usage, now);
  return sum;
}

TEST(Shares, NoNumberOfNamesMakesWhatAUserHasHadLess) {
  Shares shares;
  Instant now{};
  for (int i = 0; i < 1'000; ++i) {
    const ShareKey key{{kBob}, "s" + std::to_string(i)};
    shares.charge(key, now, 1'000);
    now = now + milliseconds(100);
    shares.charge(key, now, -1'000);
  }
  EXPECT_EQ(shares.users().at({kBob}).size(), limits::kShareSessions);
  EXPECT_NEAR(sum_of(shares, {kBob}, now), 100'000, 2'000);  // Some of it is forgotten with time.
}

TEST(Shares, NamesOfOneUserPushOutNobodyElse) {
  Shares shares;
  shares.charge({{kAlice}, "train"}, Instant{}, 1);
  shares.charge({{kAlice}, "train"}, Instant{} + seconds(1), -1);
  const Instant later = Instant{} + seconds(2);
  for (int i = 0; i < 5'000; ++i) shares.charge({{kBob}, "s" + std::to_string(i)}, later, 0);
  EXPECT_GT(sum_of(shares, {kAlice}, later), 0.9);
}

TEST(Shares, AFreshNameBeginsWithWhatTheLeastOfItsUsersHad) {
  Shares shares;
  const Instant now = Instant{} + hours(1);
  for (std::size_t i = 0; i < limits::kShareSessions; ++i) {
    shares.restore({{kBob}, "s" + std::to_string(i)}, 100.0 + static_cast<double>(i), now, now);
  }
  shares.charge({{kBob}, "fresh"}, now, 1);
  const Shares::Sessions& sessions = shares.users().at({kBob});
  EXPECT_EQ(sessions.size(), limits::kShareSessions);
  EXPECT_FALSE(sessions.contains("s0"));
  EXPECT_DOUBLE_EQ(sessions.at("fresh").byte_seconds, 100.0);
}

TEST(Shares, WhoHoldsSomethingIsNotForgotten) {
  Shares shares;
  for (int i = 0; i < 100; ++i) shares.charge({{kBob}, "s" + std::to_string(i)}, Instant{}, 5);
  EXPECT_EQ(shares.users().at({kBob}).size(), 100U);
  for (int i = 0; i < 100; ++i) shares.charge({{kBob}, "s" + std::to_string(i)}, Instant{}, -5);
  EXPECT_EQ(shares.users().at({kBob}).size(), limits::kShareSessions);
}

TEST(Shares, BeyondTheBoundTheUserWhoHasHadLeastIsForgotten) {
  Shares shares;
  for (std::uint32_t user = 0; user <= limits::kShareUsers; ++user) {
    shares.restore({{user}, ""}, user == 7 ? 1.0 : 50.0, Instant{}, Instant{});
  }
  EXPECT_EQ(shares.users().size(), limits::kShareUsers);
  EXPECT_FALSE(shares.users().contains({7}));
}

TEST_F(FairTest, UseOfMoreSessionsThanAreToldApartIsTheSameAfterARestart) {
  for (int i = 0; i < 70; ++i) {
    (void)ask_anew(kBob);
    const auto id = static_cast<std::uint64_t>(i) + 1;
    (void)story.claim(id);
    (void)story.pass(milliseconds(100 + 7 * i));
    (void)story.end(id);
  }
  const auto reported = [&](const Coordinator& coordinator) {
    std::vector<std::tuple<std::string, double, Instant>> uses;
    for (const Record& record : coordinator.snapshot(story.now)) {
      const auto* usage = std::get_if<UsageRestored>(&record.fact);
      if (usage != nullptr) uses.emplace_back(usage->session, usage->byte_seconds, usage->at);
    }
    return uses;
  };
  const auto before = reported(story.coordinator);
  EXPECT_EQ(before.size(), limits::kShareSessions);
  Coordinator fresh({.order = Order::kFair});
  for (const Record& record : story.coordinator.snapshot(story.now)) {
    EXPECT_TRUE(fresh.apply(record).ok());
  }
  EXPECT_EQ(reported(fresh), before);
  story.restart({.order = Order::kFair});
  EXPECT_EQ(reported(story.coordinator), before);
}

}  // namespace
}  // namespace berth::core
