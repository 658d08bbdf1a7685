// SPDX-License-Identifier: Apache-2.0
#include "notify/board.h"

#include <gtest/gtest.h>

#include <string>

namespace berth::notify {
namespace {

using Kind = Change::Kind;
using State = Alert::State;

Alert about(std::uint64_t lease, const std::string& rule = "full") {
  return {.rule = rule,
          .subject = {.kind = Alert::Subject::Kind::kLease, .lease = LeaseId{lease}},
          .time = UnixMs{static_cast<std::int64_t>(lease)}};
}
Alert over(Alert alert) {
  alert.state = State::kCleared;
  return alert;
}

TEST(Board, AnAlertThatIsRepeatedReplacesItself) {
  Board board;
  const auto first = board.heard(about(1));
  ASSERT_EQ(first.size(), 1);
  EXPECT_EQ(first[0].kind, Kind::kShow);
  EXPECT_EQ(first[0].id, NoticeId{});
  board.shown(about(1), {7});
  EXPECT_TRUE(board.is_ours({7}));
  EXPECT_EQ(board.heard(about(1))[0].id, NoticeId{7});
}

TEST(Board, AnotherRuleOrSubjectIsAnotherNotice) {
  Board board;
  (void)board.heard(about(1));
  board.shown(about(1), {7});
  EXPECT_EQ(board.heard(about(2))[0].id, NoticeId{});
  EXPECT_EQ(board.heard(about(1, "idle"))[0].id, NoticeId{});
  Alert of_device = about(1);
  of_device.subject.kind = Alert::Subject::Kind::kDevice;
  EXPECT_EQ(board.heard(of_device)[0].id, NoticeId{});
}

TEST(Board, WhatIsOverIsTakenAway) {
  Board board;
  EXPECT_TRUE(board.heard(over(about(1))).empty());
  (void)board.heard(about(1));
  board.shown(about(1), {7});
  const auto changes = board.heard(over(about(1)));
  ASSERT_EQ(changes.size(), 1);
  EXPECT_EQ(changes[0].kind, Kind::kClose);
  EXPECT_EQ(changes[0].id, NoticeId{7});
  EXPECT_FALSE(board.is_ours({7}));
  EXPECT_TRUE(board.heard(over(about(1))).empty());
}

TEST(Board, WhatWasPutAwayComesBackWhenItIsRepeated) {
  Board board;
  (void)board.heard(about(1));
  board.shown(about(1), {7});
  board.put_away({7});
  EXPECT_FALSE(board.is_ours({7}));
  EXPECT_TRUE(board.server_came().empty());
  EXPECT_EQ(board.heard(about(1))[0].id, NoticeId{});
  board.shown(about(1), {8});
  board.put_away({8});
  EXPECT_TRUE(board.heard(over(about(1))).empty());
}

TEST(Board, ANewServerIsShownWhatFires) {
  Board board;
  (void)board.heard(about(1));
  board.shown(about(1), {7});
  (void)board.heard(about(2));  // No server took it.
  const auto changes = board.server_came();
  ASSERT_EQ(changes.size(), 2);
  for (const Change& change : changes) {
    EXPECT_EQ(change.kind, Kind::kShow);
    EXPECT_EQ(change.id, NoticeId{});
  }
  EXPECT_FALSE(board.is_ours({7}));
}

TEST(Board, ANewDaemonSaysWhatFiresNow) {
  Board board;
  for (const std::uint64_t lease : {1U, 2U}) {
    (void)board.heard(about(lease));
    board.shown(about(lease), {static_cast<std::uint32_t>(lease)});
  }
  (void)board.heard(about(1, "failed"));
  board.shown(about(1, "failed"), {3});
  const auto changes =
      board.reconciled({.firing = {about(2), about(3)}, .events = {"failed", "granted"}});
  ASSERT_EQ(changes.size(), 2);
  EXPECT_EQ(changes[0].kind, Kind::kClose);
  EXPECT_EQ(changes[0].id, NoticeId{1});
  EXPECT_EQ(changes[1].kind, Kind::kShow);
  EXPECT_EQ(changes[1].alert.subject.lease, LeaseId{3});
  EXPECT_TRUE(board.is_ours({3})) << "what has happened is not over";
}

TEST(Board, HasABoundAndForgetsTheOldest) {
  Board board;
  for (std::uint64_t lease = 1; lease <= Board::kAlertsMax + 1; ++lease) {
    (void)board.heard(about(lease));
    board.shown(about(lease), {static_cast<std::uint32_t>(lease)});
  }
  EXPECT_FALSE(board.is_ours({1}));
  EXPECT_TRUE(board.is_ours({2}));
}

}  // namespace
}  // namespace berth::notify
