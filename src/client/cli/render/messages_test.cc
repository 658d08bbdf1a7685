// SPDX-License-Identifier: Apache-2.0
#include "cli/render/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/render/leases.h"
#include "cli/render/sample_test.h"

namespace berth::cli {
namespace {

using sample::context;
using testing::HasSubstr;
using testing::Not;

LeaseView asked(Message message) {
  LeaseView lease = sample::held();
  message.number = 3;
  lease.messages = {std::move(message)};
  return lease;
}

TEST(Messages, OfOthersSteerNoTerminal) {
  const LeaseView lease = asked({.text = "need\x1b[2J 6 GiB"});
  const std::string notice = message_notice(lease, lease.messages[0], context());
  EXPECT_THAT(notice, Not(HasSubstr("\x1b")));
  EXPECT_THAT(notice, HasSubstr("message 3 from the daemon: \"need"));
  EXPECT_THAT(lease_details(lease, context()), Not(HasSubstr("\x1b[2J")));
  const Message refused{.answer = MessageAnswer::kRefused, .why = "no\x1b[2J", .by = UserId{7}};
  EXPECT_THAT(answer_text(refused, context()), Not(HasSubstr("\x1b")));
}

TEST(Messages, SayWhichWhereSeveralAreOpen) {
  LeaseView lease = asked({.text = "a"});
  EXPECT_THAT(message_notice(lease, lease.messages[0], context()), Not(HasSubstr("--number")));
  lease.messages.push_back({.number = 4, .text = "b"});
  EXPECT_THAT(message_notice(lease, lease.messages[1], context()), HasSubstr("--number 4"));
}

TEST(Messages, SayWhoAnswered) {
  EXPECT_EQ(answer_text({}, context()), "no answer yet");
  EXPECT_EQ(answer_text({.answer = MessageAnswer::kAgreed}, context()), "agreed by its rule");
  EXPECT_EQ(answer_text({.answer = MessageAnswer::kLapsed}, context()), "not answered in time");
}

}  // namespace
}  // namespace berth::cli
