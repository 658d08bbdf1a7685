// SPDX-License-Identifier: Apache-2.0
#include "server/turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace berth::server {
namespace {

using ::testing::ElementsAre;

constexpr UserId kAlice{1001};
constexpr UserId kBob{1002};
constexpr UserId kCarol{1003};

bool anybody(UserId /*user*/) {
  return true;
}

std::vector<std::uint64_t> taken(Turns& turns, const std::function<bool(UserId)>& may = anybody) {
  std::vector<std::uint64_t> pieces;
  while (const auto piece = turns.next(may)) pieces.push_back(*piece);
  return pieces;
}

TEST(Turns, OneOfEachUserIsTakenInTurn) {
  Turns turns;
  for (std::uint64_t piece = 1; piece <= 4; ++piece) turns.add(kBob, piece);
  turns.add(kAlice, 11);
  turns.add(kAlice, 12);
  turns.add(kCarol, 21);
  EXPECT_THAT(taken(turns), ElementsAre(11, 1, 21, 12, 2, 3, 4));
  EXPECT_TRUE(turns.empty());
}

TEST(Turns, WhoComesBesideSixHundredOthersWaitsForOne) {
  Turns turns;
  for (std::uint64_t piece = 1; piece <= 600; ++piece) turns.add(kBob, piece);
  EXPECT_EQ(turns.next(anybody), 1U);
  turns.add(kAlice, 1'001);
  EXPECT_EQ(turns.next(anybody), 1'001U);
  turns.add(kAlice, 1'002);
  EXPECT_EQ(turns.next(anybody), 2U) << "nor does she keep him out";
  EXPECT_EQ(turns.next(anybody), 1'002U);
}

TEST(Turns, WhoMayNotIsPassedOverAndKeepsHisPlace) {
  Turns turns;
  turns.add(kAlice, 11);
  turns.add(kBob, 1);
  turns.add(kBob, 2);
  EXPECT_THAT(taken(turns, [](UserId user) { return user != kBob; }), ElementsAre(11));
  EXPECT_FALSE(turns.empty());
  EXPECT_THAT(taken(turns), ElementsAre(1, 2));
}

TEST(Turns, WhoMayNotKeepsNobodyBehindHimFromHis) {
  Turns turns;
  turns.add(kAlice, 11);
  turns.add(kBob, 1);
  turns.add(kCarol, 21);
  EXPECT_THAT(taken(turns, [](UserId user) { return user != kAlice; }), ElementsAre(1, 21));
}

TEST(Turns, WhatIsNotWantedAnyMoreIsNotTaken) {
  Turns turns;
  turns.add(kBob, 1);
  turns.add(kBob, 2);
  turns.add(kAlice, 11);
  EXPECT_TRUE(turns.remove(kBob, 1));
  EXPECT_FALSE(turns.remove(kBob, 1));
  EXPECT_FALSE(turns.remove(kCarol, 2));
  EXPECT_TRUE(turns.remove(kAlice, 11));
  EXPECT_EQ(turns.waiting(kBob), 1U);
  EXPECT_EQ(turns.waiting(kAlice), 0U);
  EXPECT_THAT(taken(turns), ElementsAre(2));
  EXPECT_TRUE(turns.empty());
}

}  // namespace
}  // namespace berth::server
