// SPDX-License-Identifier: Apache-2.0
#include "http/fair_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace berth::http {
namespace {

using ::testing::ElementsAre;

constexpr UserId kAlice{1001};
constexpr UserId kBob{1002};
constexpr UserId kCarol{1003};

bool anybody(UserId /*user*/) {
  return true;
}

std::vector<std::uint64_t> taken(FairQueue& fair_queue,
                                 const std::function<bool(UserId)>& may = anybody) {
  std::vector<std::uint64_t> pieces;
  while (const auto piece = fair_queue.next(may)) pieces.push_back(*piece);
  return pieces;
}

TEST(FairQueue, OneOfEachUserIsTakenInTurn) {
  FairQueue fair_queue;
  for (std::uint64_t piece = 1; piece <= 4; ++piece) fair_queue.add(kBob, piece);
  fair_queue.add(kAlice, 11);
  fair_queue.add(kAlice, 12);
  fair_queue.add(kCarol, 21);
  EXPECT_THAT(taken(fair_queue), ElementsAre(11, 1, 21, 12, 2, 3, 4));
  EXPECT_TRUE(fair_queue.empty());
}

TEST(FairQueue, ANewcomerBesideSixHundredOthersWaitsForOne) {
  FairQueue fair_queue;
  for (std::uint64_t piece = 1; piece <= 600; ++piece) fair_queue.add(kBob, piece);
  EXPECT_EQ(fair_queue.next(anybody), 1U);
  fair_queue.add(kAlice, 1'001);
  EXPECT_EQ(fair_queue.next(anybody), 1'001U);
  fair_queue.add(kAlice, 1'002);
  EXPECT_EQ(fair_queue.next(anybody), 2U) << "nor does she keep him out";
  EXPECT_EQ(fair_queue.next(anybody), 1'002U);
}

TEST(FairQueue, AUserWhoMayNotIsPassedOverAndKeepsTheirPlace) {
  FairQueue fair_queue;
  fair_queue.add(kAlice, 11);
  fair_queue.add(kBob, 1);
  fair_queue.add(kBob, 2);
  EXPECT_THAT(taken(fair_queue, [](UserId user) { return user != kBob; }), ElementsAre(11));
  EXPECT_FALSE(fair_queue.empty());
  EXPECT_THAT(taken(fair_queue), ElementsAre(1, 2));
}

TEST(FairQueue, AUserWhoMayNotKeepsNobodyBehindThemFromTheirs) {
  FairQueue fair_queue;
  fair_queue.add(kAlice, 11);
  fair_queue.add(kBob, 1);
  fair_queue.add(kCarol, 21);
  EXPECT_THAT(taken(fair_queue, [](UserId user) { return user != kAlice; }), ElementsAre(1, 21));
}

TEST(FairQueue, WhatIsNotWantedAnyMoreIsNotTaken) {
  FairQueue fair_queue;
  fair_queue.add(kBob, 1);
  fair_queue.add(kBob, 2);
  fair_queue.add(kAlice, 11);
  EXPECT_TRUE(fair_queue.remove(kBob, 1));
  EXPECT_FALSE(fair_queue.remove(kBob, 1));
  EXPECT_FALSE(fair_queue.remove(kCarol, 2));
  EXPECT_TRUE(fair_queue.remove(kAlice, 11));
  EXPECT_EQ(fair_queue.waiting(kBob), 1U);
  EXPECT_EQ(fair_queue.waiting(kAlice), 0U);
  EXPECT_THAT(taken(fair_queue), ElementsAre(2));
  EXPECT_TRUE(fair_queue.empty());
}

}  // namespace
}  // namespace berth::http
