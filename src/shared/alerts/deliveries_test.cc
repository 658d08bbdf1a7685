// SPDX-License-Identifier: Apache-2.0
#include "alerts/deliveries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::alerts {
namespace {

using testing::ElementsAre;

constexpr UnixMs kStart{1'770'000'000'000};

UnixMs later(std::int64_t seconds) {
  return {kStart.value + seconds * 1'000};
}

AlertDelivery message(std::string id, std::string to = "r") {
  return {.id = std::move(id), .rule = std::move(to), .created = kStart, .next = kStart};
}

class Post {
 public:
  Post() { all.restore({}); }
  std::string due(UnixMs now) {
    std::string ids;
    for (AlertDelivery& delivery : all.take_due(now)) {
      ids += (ids.empty() ? "" : " ") + delivery.id;
      tried[delivery.id] = delivery.number;
    }
    return ids;
  }
  Deliveries::Disposition end(const std::string& id, Outcome outcome, UnixMs now,
                              std::optional<Duration> pause = {}) {
    return all.finished(tried.at(id), outcome, pause, now, 0);
  }

  Deliveries all;
  std::map<std::string, std::uint64_t> tried;
};

TEST(Deliveries, MessagesOfARuleGoOutOneAfterTheOther) {
  Post post;
  for (const char* id : {"a", "b"}) (void)post.all.add(message(id));
  (void)post.all.add(message("c", "other"));
  EXPECT_EQ(post.due(kStart), "a c");
  EXPECT_EQ(post.due(kStart), "");
  EXPECT_EQ(post.end("a", Outcome::kDelivered, kStart), Deliveries::Disposition::kDone);
  EXPECT_EQ(post.due(kStart), "b");
}

TEST(Deliveries, WhatFailsIsTriedAgainBeforeWhatComesAfterIt) {
  Post post;
  for (const char* id : {"a", "b"}) (void)post.all.add(message(id));
  EXPECT_EQ(post.due(kStart), "a");
  EXPECT_EQ(post.end("a", Outcome::kRetry, kStart), Deliveries::Disposition::kAgain);
  EXPECT_EQ(post.all.next(kStart), seconds(1));
  EXPECT_EQ(post.due(kStart), "");
  EXPECT_EQ(post.due(later(1)), "a");
  EXPECT_EQ(post.end("a", Outcome::kRetry, later(1)), Deliveries::Disposition::kAgain);
  EXPECT_EQ(post.due(later(2)), "");
  EXPECT_EQ(post.due(later(3)), "a");
  EXPECT_EQ(post.end("a", Outcome::kRefused, later(3)), Deliveries::Disposition::kGivenUp);
  EXPECT_EQ(post.due(later(3)), "b");
}

TEST(Deliveries, APauseThatIsAskedForIsGranted) {
  Post post;
  (void)post.all.add(message("a"));
  EXPECT_EQ(post.due(kStart), "a");
  (void)post.end("a", Outcome::kRetry, kStart, minutes(2));
  EXPECT_EQ(post.all.next(kStart), minutes(2));
  EXPECT_EQ(post.due(later(120)), "a");
  (void)post.end("a", Outcome::kRetry, later(120), hours(10));
  EXPECT_EQ(post.all.next(later(120)), Deliveries::kPauseMax);
}

TEST(Deliveries, AfterADayItIsGivenUp) {
  Post post;
  (void)post.all.add(message("a"));
  UnixMs now = kStart;
  Deliveries::Disposition disposition = Deliveries::Disposition::kAgain;
  std::size_t tries = 0;
  while (disposition == Deliveries::Disposition::kAgain) {
    now.value += post.all.next(now)->ns / 1'000'000;
    ASSERT_EQ(post.due(now), "a");
    disposition = post.end("a", Outcome::kRetry, now);
    ++tries;
  }
  EXPECT_EQ(disposition, Deliveries::Disposition::kGivenUp);
  EXPECT_GE(now.value, later(86'400).value);
  EXPECT_GT(tries, 100);
  EXPECT_LT(tries, 300);
  EXPECT_FALSE(post.all.next(now).has_value());
}

TEST(Deliveries, BeyondTheBoundTheOldestGoes) {
  Post post;
  (void)post.all.add(message("first"));
  EXPECT_EQ(post.due(kStart), "first");  // Is being tried, and stays.
  for (std::size_t i = 1; i < Deliveries::kWaitingMax; ++i) {
    EXPECT_FALSE(post.all.add(message(std::to_string(i))));
  }
  const auto lost = post.all.add(message("last"));
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->id, "1");
  EXPECT_EQ(post.all.count_of("r"), Deliveries::kWaitingMax);
}

TEST(Deliveries, OneUsersManyPushOutNobodyElses) {
  constexpr UserId kAlice{1001};
  constexpr UserId kBob{1002};
  Post post;
  (void)post.all.add(message("about a GPU"));
  (void)post.all.add(message("alice's"), kAlice);
  for (std::size_t i = 2; i < Deliveries::kWaitingMax; ++i) {
    EXPECT_FALSE(post.all.add(message("bob's " + std::to_string(i)), kBob));
  }
  for (int i = 0; i < 500; ++i) {
    const auto lost = post.all.add(message("bob's"), kBob);
    ASSERT_TRUE(lost);
    EXPECT_EQ(lost->id, "bob's " + std::to_string(i + 2));
  }
  const auto lost = post.all.add(message("alice's second"), kAlice);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->id, "bob's 502");
}

TEST(Deliveries, SomeAreTriedAtOnceAndNotMore) {
  Post post;
  for (int i = 0; i < 6; ++i) (void)post.all.add(message(std::to_string(i), std::to_string(i)));
  EXPECT_EQ(post.due(kStart), "0 1 2 3");
  EXPECT_FALSE(post.all.next(kStart).has_value());
  (void)post.end("2", Outcome::kDelivered, kStart);
  EXPECT_EQ(post.due(kStart), "4");
}

TEST(Deliveries, WhatADaemonBeforeKeptComesFirst) {
  Deliveries before;
  before.restore({});
  for (const char* id : {"a", "b"}) (void)before.add(message(id));
  auto kept = before.take_changes();
  EXPECT_TRUE(before.take_changes().empty());
  ASSERT_EQ(kept.put.size(), 2);

  Deliveries now;
  AlertDelivery fresh = message("c");
  fresh.created = later(10);
  (void)now.add(fresh);
  EXPECT_TRUE(now.take_due(later(10)).empty());  // They are not here yet.
  now.restore(kept.put);
  const auto due = now.take_due(later(10));
  ASSERT_EQ(due.size(), 1);
  EXPECT_EQ(due[0].id, "a");
  EXPECT_EQ(now.finished(due[0].number, Outcome::kDelivered, {}, later(10), 0),
            Deliveries::Disposition::kDone);
  EXPECT_EQ(now.take_due(later(10))[0].id, "b");
  const auto changes = now.take_changes();
  EXPECT_THAT(changes.drop, ElementsAre(due[0].number));
  ASSERT_EQ(changes.put.size(), 1);
  EXPECT_EQ(changes.put[0].id, "c");
}

TEST(Deliveries, WhatARuleThatIsGoneWantedSentIsDropped) {
  Post post;
  for (const char* id : {"a", "b"}) (void)post.all.add(message(id));
  EXPECT_EQ(post.due(kStart), "a");
  post.all.drop_if([](const AlertDelivery&) { return true; });
  EXPECT_EQ(post.all.count_of("r"), 1);  // It is being tried.
  (void)post.end("a", Outcome::kRetry, kStart);
  post.all.drop_if([](const AlertDelivery&) { return true; });
  EXPECT_EQ(post.all.count_of("r"), 0);
  const auto changes = post.all.take_changes();
  EXPECT_TRUE(changes.put.empty());
  EXPECT_EQ(changes.drop.size(), 2);
}

TEST(Deliveries, AClockThatIsSetBackHoldsNothingUp) {
  Post post;
  (void)post.all.add(message("a"));
  EXPECT_EQ(post.due(kStart), "a");
  (void)post.end("a", Outcome::kRetry, kStart);
  EXPECT_EQ(post.due(later(-100'000)), "a");
}

TEST(RetryAfter, GrowsFromOneSecondToAQuarterOfAnHour) {
  EXPECT_EQ(retry_after(1, 0), seconds(1));
  EXPECT_LE(retry_after(1, 12'345'678'901), seconds(2));
  EXPECT_EQ(retry_after(2, 0), seconds(2));
  EXPECT_EQ(retry_after(5, 0), seconds(16));
  EXPECT_EQ(retry_after(100, 0), seconds(450));
  EXPECT_LE(retry_after(100, ~std::uint64_t{0}), minutes(15));
}

}  // namespace
}  // namespace berth::alerts
