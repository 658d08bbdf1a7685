// SPDX-License-Identifier: Apache-2.0
#include "notify/notification_set.h"

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

TEST(NotificationSet, AnAlertThatIsRepeatedReplacesItself) {
  NotificationSet notifications;
  const auto first = notifications.heard(about(1));
  ASSERT_EQ(first.size(), 1);
  EXPECT_EQ(first[0].kind, Kind::kShow);
  EXPECT_EQ(first[0].id, NotificationId{});
  notifications.shown(about(1), {7});
  EXPECT_TRUE(notifications.is_ours({7}));
  EXPECT_EQ(notifications.heard(about(1))[0].id, NotificationId{7});
}

TEST(NotificationSet, AnotherRuleOrSubjectIsAnotherNotice) {
  NotificationSet notifications;
  (void)notifications.heard(about(1));
  notifications.shown(about(1), {7});
  EXPECT_EQ(notifications.heard(about(2))[0].id, NotificationId{});
  EXPECT_EQ(notifications.heard(about(1, "idle"))[0].id, NotificationId{});
  Alert of_device = about(1);
  of_device.subject.kind = Alert::Subject::Kind::kDevice;
  EXPECT_EQ(notifications.heard(of_device)[0].id, NotificationId{});
}

TEST(NotificationSet, WhatIsOverIsTakenAway) {
  NotificationSet notifications;
  EXPECT_TRUE(notifications.heard(over(about(1))).empty());
  (void)notifications.heard(about(1));
  notifications.shown(about(1), {7});
  const auto changes = notifications.heard(over(about(1)));
  ASSERT_EQ(changes.size(), 1);
  EXPECT_EQ(changes[0].kind, Kind::kClose);
  EXPECT_EQ(changes[0].id, NotificationId{7});
  EXPECT_FALSE(notifications.is_ours({7}));
  EXPECT_TRUE(notifications.heard(over(about(1))).empty());
}

TEST(NotificationSet, WhatWasPutAwayComesBackWhenItIsRepeated) {
  NotificationSet notifications;
  (void)notifications.heard(about(1));
  notifications.shown(about(1), {7});
  notifications.dismissed({7});
  EXPECT_FALSE(notifications.is_ours({7}));
  EXPECT_TRUE(notifications.server_came().empty());
  EXPECT_EQ(notifications.heard(about(1))[0].id, NotificationId{});
  notifications.shown(about(1), {8});
  notifications.dismissed({8});
  EXPECT_TRUE(notifications.heard(over(about(1))).empty());
}

TEST(NotificationSet, ANewServerIsShownWhatFires) {
  NotificationSet notifications;
  (void)notifications.heard(about(1));
  notifications.shown(about(1), {7});
  (void)notifications.heard(about(2));  // No server took it.
  const auto changes = notifications.server_came();
  ASSERT_EQ(changes.size(), 2);
  for (const Change& change : changes) {
    EXPECT_EQ(change.kind, Kind::kShow);
    EXPECT_EQ(change.id, NotificationId{});
  }
  EXPECT_FALSE(notifications.is_ours({7}));
}

TEST(NotificationSet, ANewDaemonSaysWhatFiresNow) {
  NotificationSet notifications;
  for (const std::uint64_t lease : {1U, 2U}) {
    (void)notifications.heard(about(lease));
    notifications.shown(about(lease), {static_cast<std::uint32_t>(lease)});
  }
  (void)notifications.heard(about(1, "failed"));
  notifications.shown(about(1, "failed"), {3});
  const auto changes =
      notifications.reconciled({.firing = {about(2), about(3)}, .events = {"failed", "granted"}});
  ASSERT_EQ(changes.size(), 2);
  EXPECT_EQ(changes[0].kind, Kind::kClose);
  EXPECT_EQ(changes[0].id, NotificationId{1});
  EXPECT_EQ(changes[1].kind, Kind::kShow);
  EXPECT_EQ(changes[1].alert.subject.lease, LeaseId{3});
  EXPECT_TRUE(notifications.is_ours({3})) << "what has happened is not over";
}

TEST(NotificationSet, HasABoundAndForgetsTheOldest) {
  NotificationSet notifications;
  for (std::uint64_t lease = 1; lease <= NotificationSet::kAlertsMax + 1; ++lease) {
    (void)notifications.heard(about(lease));
    notifications.shown(about(lease), {static_cast<std::uint32_t>(lease)});
  }
  EXPECT_FALSE(notifications.is_ours({1}));
  EXPECT_TRUE(notifications.is_ours({2}));
}

}  // namespace
}  // namespace berth::notify
