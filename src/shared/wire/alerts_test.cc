// SPDX-License-Identifier: Apache-2.0
#include "wire/alerts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/samples_for_test.h"

namespace berth::wire {
namespace {

using testing::HasSubstr;

TEST(Alerts, EventSaysWhatItIsAboutAndHowMuch) {
  const std::string text = encode_alert(samples::alert());
  EXPECT_THAT(text, HasSubstr(R"("subject":{"kind":"device","id":"GPU-5a1c0d2e-)"));
  EXPECT_THAT(text, HasSubstr(R"("value":0.884,"unit":"share","severity":"critical")"));
  EXPECT_THAT(text, HasSubstr(R"("actions":[{"verb":"pause","lease":12,"label":"Pause train"}])"));
  const auto read = decode_alert(text);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->rule, "gpu-high");
  EXPECT_EQ(read->text, samples::alert().text);
  EXPECT_EQ(read->severity, Severity::kCritical);
  EXPECT_EQ(read->subject.kind, Alert::Subject::Kind::kDevice);
  EXPECT_EQ(read->subject.device, samples::alert().subject.device);
  ASSERT_EQ(read->actions.size(), 1);
  EXPECT_EQ(read->actions[0].verb, Alert::Action::Verb::kPause);
  EXPECT_EQ(read->actions[0].lease, LeaseId{12});
  EXPECT_EQ(read->actions[0].label, "Pause train");
}

TEST(Alerts, WhatANewerDaemonSaysBesidesIsPassedOver) {
  const auto read = decode_alert(R"({"rule":"r","subject":{"kind":"rack","id":"7","name":"rack 7"},
      "actions":[{"verb":"cool","lease":1,"label":"Cool"},
                 {"verb":"show","lease":2,"label":"Show"}]})");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->subject.name, "rack 7");
  ASSERT_EQ(read->actions.size(), 1);
  EXPECT_EQ(read->actions[0].lease, LeaseId{2});
}

TEST(Alerts, WhatIsUnknownIsNull) {
  EXPECT_THAT(encode_alert({}), HasSubstr(R"("id":null,"name":null},"text":"","value":null)"));
}

TEST(Alerts, TestReadsBack) {
  const auto test = decode_alert_test(
      encode_alert_test({.rule = "r", .outcomes = {*samples::rule().last_delivery, {}}}));
  ASSERT_TRUE(test.ok()) << test.error().message;
  EXPECT_EQ(test->rule, "r");
  ASSERT_EQ(test->outcomes.size(), 2);
  EXPECT_EQ(test->outcomes[0].reason, "answered 503");
  EXPECT_EQ(test->outcomes[1].status, std::nullopt);
}

TEST(Alerts, ListReadsBack) {
  RuleView off = samples::rule();
  off.enabled = false;
  const auto list = decode_alerts(encode_alerts({.time = {}, .items = {samples::rule(), off, {}}}));
  ASSERT_TRUE(list.ok()) << list.error().message;
  ASSERT_EQ(list->items.size(), 3);
  EXPECT_EQ(state_of(list->items[0]), Standing::kFiring);
  EXPECT_EQ(state_of(list->items[1]), Standing::kOff);
  EXPECT_EQ(state_of(list->items[2]), Standing::kOk);
  EXPECT_EQ(list->items[0].last_delivery->status, 503);
  EXPECT_EQ(list->items[0].undelivered, 2);
  EXPECT_EQ(list->items[0].states[0].text, samples::alert().text);
}

}  // namespace
}  // namespace berth::wire
