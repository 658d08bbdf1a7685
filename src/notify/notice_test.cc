// SPDX-License-Identifier: Apache-2.0
#include "notify/notice.h"

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

TEST(Notice, NamesTheSubjectAndTheRule) {
  EXPECT_EQ(notice_of(alert(), {}).summary, "train: vram critical");
  Alert nameless = alert();
  nameless.subject.name.clear();
  EXPECT_EQ(notice_of(nameless, {}).summary, "vram critical");
}

TEST(Notice, EscapesABodyWhereBodiesAreMarkup) {
  EXPECT_EQ(notice_of(alert(), {.markup = true}).body, "a &lt; b &amp; c &gt; \"d\"");
  EXPECT_EQ(notice_of(alert(), {.markup = false}).body, "a < b & c > \"d\"");
}

TEST(Notice, ABodyIsCutBetweenLetters) {
  Alert longer = alert();
  longer.text = std::string(1'023, 'x') + "ööö";
  EXPECT_EQ(notice_of(longer, {}).body, std::string(1'023, 'x') + "…");
}

TEST(Notice, IsAsUrgentAsTheAlert) {
  Alert other = alert();
  EXPECT_EQ(notice_of(other, {}).urgency, Urgency::kCritical);
  other.severity = Severity::kWarn;
  EXPECT_EQ(notice_of(other, {}).urgency, Urgency::kNormal);
  other.severity = Severity::kInfo;
  EXPECT_EQ(notice_of(other, {}).urgency, Urgency::kLow);
}

TEST(Notice, HasButtonsWhereTheyAreShown) {
  EXPECT_TRUE(notice_of(alert(), {}).buttons.empty());
  const Notice notice = notice_of(alert(), {.buttons = true});
  ASSERT_EQ(notice.buttons.size(), 2);
  EXPECT_EQ(notice.buttons[0].key, "pause 12");
  EXPECT_EQ(notice.buttons[0].label, "Pause train");
  EXPECT_EQ(notice.buttons[1].key, "show 12");
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

TEST(Notice, WhatOthersNamedTurnsNoTextAndHidesNothing) {
  Alert alert{.rule = "high\u200b", .text = "lease 12 (user\u202egnp) \x1b[2J\U000e0041"};
  alert.subject.name = "user\u202egnp";
  alert.actions = {{.verb = Verb::kPause, .lease = {12}, .label = "Pause user\u202egnp"}};
  const Notice notice = notice_of(alert, {.buttons = true});
  EXPECT_EQ(notice.summary, "user?gnp: high?");
  EXPECT_EQ(notice.body, "lease 12 (user?gnp) ?[2J?");
  EXPECT_EQ(notice.buttons.at(0).label, "Pause user?gnp");
}

}  // namespace
}  // namespace berth::notify
