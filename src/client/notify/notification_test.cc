// SPDX-License-Identifier: Apache-2.0
#include "notify/notification.h"

#include <gtest/gtest.h>

#include <string>

namespace berth::notify {
namespace {

using Verb = Alert::Action::Verb;

Alert alert() {
  return {.rule = "vram critical",
          .subject = {.kind = Alert::Subject::Kind::kLease, .lease = LeaseId{12}, .name = "train"},
          .text = "a < b & c > \"d\"",
          .severity = Severity::kCritical,
          .actions = {{.verb = Verb::kPause, .lease = LeaseId{12}, .label = "Pause train"},
                      {.verb = Verb::kShow, .lease = LeaseId{12}, .label = "Show"}}};
}

TEST(Notification, NamesTheSubjectAndTheRule) {
  EXPECT_EQ(notification_of(alert(), {}).summary, "train: vram critical");
  Alert nameless = alert();
  nameless.subject.name.clear();
  EXPECT_EQ(notification_of(nameless, {}).summary, "vram critical");
}

TEST(Notification, EscapesABodyWhereBodiesAreMarkup) {
  EXPECT_EQ(notification_of(alert(), {.markup = true}).body, "a &lt; b &amp; c &gt; \"d\"");
  EXPECT_EQ(notification_of(alert(), {.markup = false}).body, "a < b & c > \"d\"");
}

TEST(Notification, ABodyIsCutBetweenLetters) {
  Alert longer = alert();
  longer.text = std::string(1'023, 'x') + "ööö";
  EXPECT_EQ(notification_of(longer, {}).body, std::string(1'023, 'x') + "…");
}

TEST(Notification, IsAsUrgentAsTheAlert) {
  Alert other = alert();
  EXPECT_EQ(notification_of(other, {}).urgency, Urgency::kCritical);
  other.severity = Severity::kWarn;
  EXPECT_EQ(notification_of(other, {}).urgency, Urgency::kNormal);
  other.severity = Severity::kInfo;
  EXPECT_EQ(notification_of(other, {}).urgency, Urgency::kLow);
}

TEST(Notification, HasButtonsWhereTheyAreShown) {
  EXPECT_TRUE(notification_of(alert(), {}).buttons.empty());
  const Notification notification = notification_of(alert(), {.buttons = true});
  ASSERT_EQ(notification.buttons.size(), 2);
  EXPECT_EQ(notification.buttons[0].key, "pause 12");
  EXPECT_EQ(notification.buttons[0].label, "Pause train");
  EXPECT_EQ(notification.buttons[1].key, "show 12");
}

TEST(ButtonKey, SaysAVerbAndALeaseAndNothingElse) {
  const auto action = parse_key("checkpoint 18446744073709551615").value_or(Alert::Action{});
  EXPECT_EQ(action.verb, Verb::kCheckpoint);
  EXPECT_EQ(action.lease, LeaseId{18'446'744'073'709'551'615U});
  for (const char* key : {"", "default", "pause", "pause ", "pause x", "pause 1 --all", "pause -1",
                          "release 1", "pause 18446744073709551616", " 1", "pause  1"}) {
    EXPECT_FALSE(parse_key(key)) << key;
  }
}

TEST(Notification, WhatOthersNamedTurnsNoTextAndHidesNothing) {
  Alert alert{.rule = "high\u200b", .text = "lease 12 (user\u202egnp) \x1b[2J\U000e0041"};
  alert.subject.name = "user\u202egnp";
  alert.actions = {{.verb = Verb::kPause, .lease = {12}, .label = "Pause user\u202egnp"}};
  const Notification notification = notification_of(alert, {.buttons = true});
  EXPECT_EQ(notification.summary, "user?gnp: high?");
  EXPECT_EQ(notification.body, "lease 12 (user?gnp) ?[2J?");
  EXPECT_EQ(notification.buttons.at(0).label, "Pause user?gnp");
}

}  // namespace
}  // namespace berth::notify
