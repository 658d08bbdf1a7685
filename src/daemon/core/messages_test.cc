// SPDX-License-Identifier: Apache-2.0
// Messages to the holders of leases, their answers, and the rules that answer.
#include "core/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "core/limits.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint32_t kHolder = 1000;
constexpr std::uint32_t kOther = 1001;

class Messages : public StoryTest {
 protected:
  explicit Messages(Settings settings = {.order = Order::kFifo, .reserve = {}})
      : StoryTest(std::move(settings)) {}

  /// Lease n is held and runs.
  void hold(std::uint64_t n, std::optional<MessageRule> rule = {}, bool saves = false) {
    Request request = S::budget(gib(4));
    request.on_message = std::move(rule);
    if (saves) request.checkpoint = CheckpointWay{.kind = CheckpointKind::kSignal};
    (void)story.ask(std::move(request));
    run(n, gib(2));
  }
  static MessageRule pauses(std::vector<std::uint32_t> users = {}) {
    return {.answer = OnMessage::kPause, .lasts = minutes(10), .users = std::move(users)};
  }
  std::string send(std::uint32_t from = kOther, const std::string& text = "need 6 GiB",
                   std::optional<Duration> wait = {}, std::uint64_t to = 1) {
    return story.feed(SendMessage{{70}, {{from}}, {to}, {text, wait}});
  }
  std::string agree(std::optional<Duration> lasts = {}, std::optional<std::uint64_t> number = {},
                    std::uint32_t by = kHolder) {
    return story.feed(AgreeToMessage{{71}, {{by}}, {1}, {number, lasts}});
  }
  std::string refuse(const std::string& why = {}, std::optional<std::uint64_t> number = {},
                     std::uint32_t by = kHolder) {
    return story.feed(RefuseMessage{{72}, {{by}}, {1}, {number, why}});
  }
  Message message(std::size_t at = 0, std::uint64_t id = 1) const {
    return lease(id).messages.at(at);
  }
};

TEST_F(Messages, ReachTheHolderFromAnyUserAndChangeNoLease) {
  hold(1);
  EXPECT_EQ(send(), "message 1; held 1; ");
  const Message sent = message();
  EXPECT_EQ(sent.from, UserId{kOther});
  EXPECT_EQ(sent.text, "need 6 GiB");
  EXPECT_FALSE(sent.answer);
  EXPECT_TRUE(lease().flags.message);
  EXPECT_FALSE(lease().pause);
}

TEST_F(Messages, AreAnsweredByTheHolderAlone) {
  hold(1);
  (void)send();
  EXPECT_EQ(agree({}, {}, kOther), "refuse not_yours; ");
  EXPECT_EQ(refuse({}, {}, kOther), "refuse not_yours; ");
  EXPECT_EQ(refuse("in the middle of it"), "answer 1; held 1; ");
  EXPECT_EQ(message().answer, MessageAnswer::kRefused);
  EXPECT_EQ(message().why, "in the middle of it");
  EXPECT_EQ(message().by, UserId{kHolder});
  EXPECT_FALSE(lease().flags.message);
  EXPECT_EQ(agree(), "refuse wrong_state; ") << "it has been answered";
}

TEST_F(Messages, TellTheSenderWhatWasAnsweredOrThatNothingWas) {
  hold(1);
  EXPECT_EQ(send(kOther, "please", minutes(2)), "message 1; ");
  EXPECT_EQ(agree(), "answer 1; held 1; held 1; ");
  EXPECT_EQ(send(kOther, "and again", minutes(2)), "message 1; ");
  EXPECT_EQ(story.pass(minutes(2) + seconds(-1)), "");
  EXPECT_EQ(story.pass(seconds(1)), "held 1; ");
  EXPECT_FALSE(message(1).answer);
}

TEST_F(Messages, PauseTheLeaseForSoLongWhereItsHolderSaysSo) {
  hold(1);
  (void)send();
  EXPECT_EQ(agree(minutes(10)), "answer 1; move out 1; held 1; ");
  (void)transfer_done();
  EXPECT_EQ(message().answer, MessageAnswer::kAgreed);
  EXPECT_EQ(lease().state, LeaseState::kSuspended);
  ASSERT_TRUE(lease().pause);
  EXPECT_EQ(lease().pause->reason, "message 1");
  story.use(1, {});
  (void)story.second();
  (void)story.pass(minutes(10));
  EXPECT_THAT(story.second(), HasSubstr("move back 1"));
}

TEST_F(Messages, AreNotAgreedToWhereThePauseThatIsNamedCannotBe) {
  hold(1);
  (void)send();
  (void)story.feed(Suspend{{9}, {{kHolder}}, {1}, {}});
  EXPECT_EQ(agree(minutes(10)), "refuse wrong_state; ");
  EXPECT_THAT(story.refusal(), HasSubstr("nothing was answered"));
  EXPECT_FALSE(message().answer);
}

TEST_F(Messages, NeedANumberWhereSeveralAreOpen) {
  hold(1);
  (void)send(kOther);
  (void)send(1002);
  EXPECT_EQ(agree(), "refuse ambiguous; ");
  EXPECT_THAT(story.refusal(), HasSubstr("1, 2"));
  EXPECT_EQ(agree({}, 2), "answer 1; held 1; ");
  EXPECT_FALSE(message(0).answer);
  EXPECT_EQ(message(1).answer, MessageAnswer::kAgreed);
  EXPECT_EQ(agree({}, 2), "refuse wrong_state; ");
}

TEST_F(Messages, GoToHeldLeasesAlone) {
  hold(1);
  (void)story.ask(S::whole());
  EXPECT_EQ(send(kOther, "please", {}, 2), "refuse wrong_state; ");
  EXPECT_EQ(send(kOther, "please", {}, 7), "refuse not_found; ");
}

TEST_F(Messages, AreShortAndSaySomething) {
  hold(1);
  EXPECT_EQ(send(kOther, std::string(limits::kMessageText + 1, 'x')), "refuse invalid; ");
  EXPECT_EQ(send(kOther, "  "), "refuse invalid; ");
  EXPECT_EQ(send(kOther, std::string(limits::kMessageText, 'x')), "message 1; held 1; ");
  EXPECT_EQ(refuse(std::string(limits::kMessageText + 1, 'x')), "refuse invalid; ");
}

TEST_F(Messages, OfOneUserAreOpenOneAtATime) {
  hold(1);
  (void)send();
  EXPECT_EQ(send(), "refuse busy; ");
  EXPECT_THAT(story.refusal(), HasSubstr("your message 1"));
  (void)refuse();
  EXPECT_THAT(send(), HasSubstr("message 1; "));
}

TEST_F(Messages, AreOpenOfSoManyUsersAtATime) {
  hold(1);
  for (std::uint32_t i = 0; i < limits::kMessagesOpen; ++i) {
    EXPECT_THAT(send(kOther + i), HasSubstr("message 1; "));
  }
  EXPECT_EQ(send(5000), "refuse queue_full; ");
  EXPECT_THAT(story.refusal(), HasSubstr("has not answered"));
}

TEST_F(Messages, ComeFromOneUserSoOftenInAMinute) {
  hold(1);
  for (std::size_t i = 0; i < limits::kMessagesAMinute; ++i) {
    EXPECT_THAT(send(), HasSubstr("message 1; ")) << i;
    (void)refuse();
    (void)story.pass(seconds(1));
  }
  EXPECT_EQ(send(), "refuse queue_full; ");
  EXPECT_THAT(send(1002), HasSubstr("message 1; ")) << "another user has sent none";
  (void)story.pass(seconds(60 - static_cast<std::int64_t>(limits::kMessagesAMinute)));
  EXPECT_THAT(send(), HasSubstr("message 1; "));
}

TEST_F(Messages, AreKeptSoManyAtMostAndOpenOnesLongest) {
  hold(1);
  (void)send(1002, "the first");
  for (int i = 0; i < 40; ++i) {
    (void)send();
    (void)refuse({}, lease().messages.back().number);
    (void)story.pass(seconds(10));
  }
  EXPECT_EQ(lease().messages.size(), kMessagesKept);
  EXPECT_EQ(message().text, "the first");
}

TEST_F(Messages, LapseWhenNobodyAnswersInTime) {
  hold(1);
  (void)send(kOther, "please", hours(3));
  EXPECT_EQ(story.pass(limits::kMessageLasts + seconds(-1)), "");
  EXPECT_EQ(story.pass(seconds(1)), "answer 1; held 1; ");
  EXPECT_EQ(message().answer, MessageAnswer::kLapsed);
  EXPECT_FALSE(lease().flags.message);
  EXPECT_THAT(send(), HasSubstr("message 1; "));
}

TEST_F(Messages, OutliveTheDaemonAndEndWithTheLease) {
  hold(1);
  (void)send();
  (void)refuse("no");
  (void)send(1002, "and I?");
  const std::vector<Message> before = lease().messages;
  for (const bool by_snapshot : {false, true}) {
    by_snapshot ? story.restart_from_snapshot() : story.restart();
    EXPECT_EQ(lease().messages, before) << by_snapshot;
  }
  EXPECT_EQ(story.pass(limits::kMessageLasts), "answer 1; ") << "as long as it would have";
  story.use(1, {});
  (void)story.end(1);
  EXPECT_TRUE(lease().messages.empty());
  EXPECT_EQ(story.records_refused, 0);
}

TEST_F(Messages, OfOneThatEndsAreAnsweredByNobody) {
  hold(1);
  (void)send(kOther, "please", minutes(2));
  story.use(1, {});
  EXPECT_THAT(story.end(1), HasSubstr("refuse wrong_state; "));
}

TEST_F(Messages, AreAnsweredByTheRuleOfTheHolder) {
  hold(1, pauses());
  EXPECT_EQ(send(kHolder, "please", minutes(1)), "message 1; answer 1; move out 1; held 1; ");
  EXPECT_EQ(message().answer, MessageAnswer::kAgreed);
  EXPECT_FALSE(message().by);
  (void)transfer_done();
  EXPECT_EQ(lease().pause->until->value, story.now.wall.value + minutes(10).ns / 1'000'000);
}

TEST_F(Messages, OfOthersAreAnsweredByARuleThatNamesThem) {
  hold(1, pauses());
  EXPECT_EQ(send(kOther), "message 1; held 1; ");
  hold(2, MessageRule{.answer = OnMessage::kRefuse, .users = {kOther}});
  EXPECT_EQ(send(kOther, "please", {}, 2), "message 2; answer 2; held 2; ");
  EXPECT_EQ(message(0, 2).answer, MessageAnswer::kRefused);
  EXPECT_EQ(send(1002, "please", {}, 2), "message 2; held 2; ");
}

TEST_F(Messages, AreAnsweredByARuleOnceInMessageEvery) {
  hold(1, MessageRule{.answer = OnMessage::kRefuse, .users = {kOther, 1002}});
  EXPECT_THAT(send(kOther), HasSubstr("answer 1; "));
  (void)story.pass(minutes(9));
  EXPECT_THAT(send(1002), Not(HasSubstr("answer 1; ")));
  story.restart_from_snapshot();
  (void)story.pass(seconds(59));
  EXPECT_THAT(send(kOther), Not(HasSubstr("answer 1; ")));
  (void)refuse({}, 3);
  (void)story.pass(seconds(1));
  EXPECT_THAT(send(kOther), HasSubstr("answer 1; "));
}

TEST_F(Messages, AreNotAnsweredByARuleWhileTheLeaseSavesItself) {
  for (const OnMessage answer : {OnMessage::kPause, OnMessage::kRefuse}) {
    MessageRule rule = pauses();
    rule.answer = answer;
    if (answer == OnMessage::kRefuse) rule.lasts.reset();
    const std::uint64_t n = answer == OnMessage::kPause ? 1 : 2;
    hold(n, rule, true);
    (void)story.feed(AskCheckpoint{{9}, {{kHolder}}, {n}, {Duration{}}});
    EXPECT_THAT(send(kHolder, "please", {}, n), Not(HasSubstr("answer"))) << n;
    EXPECT_FALSE(message(0, n).answer);
  }
}

TEST_F(Messages, AreNotAgreedToByARuleThatCannotPause) {
  hold(1, pauses());
  (void)story.feed(Suspend{{9}, {{kHolder}}, {1}, {}});
  (void)transfer_done();
  EXPECT_THAT(send(kHolder), Not(HasSubstr("answer")));
}

// Two sessions whose programs message each other whenever they run.
TEST_F(Messages, OfTwoWithRulesThatMessageEachOtherComeToRest) {
  hold(1, pauses());
  hold(2, pauses());
  int answered = 0;
  for (int minute = 0; minute < 180; ++minute) {
    for (const std::uint64_t id : {1U, 2U}) {
      if (lease(id).state != LeaseState::kHeld) continue;
      const std::string heard = send(kHolder, "give me room", {}, 3 - id);
      if (heard.find("answer") == std::string::npos) continue;
      ++answered;
      (void)transfer_done();
      story.use(3 - id, {});
    }
    for (int i = 0; i < 60; ++i) {
      (void)story.pass(seconds(1));
      const std::string reported = story.sample();
      if (reported.find("move back") == std::string::npos) continue;
      story.use(story.last_move()->lease.value, gib(2));
      (void)transfer_done();
    }
  }
  EXPECT_GE(answered, 2);
  EXPECT_LE(answered, 6) << "what is not answered at once waits for an hour for its holder";
}

TEST_F(Messages, HaveRulesThatMakeSense) {
  const auto ask = [&](const MessageRule& rule, std::optional<Duration> ttl = {}) {
    Request request = S::budget(gib(1));
    request.on_message = rule;
    request.ttl = ttl;
    return story.ask(std::move(request));
  };
  EXPECT_EQ(ask({.answer = OnMessage::kPause}), "refuse invalid; ");
  EXPECT_EQ(ask({.answer = OnMessage::kPause, .lasts = hours(25)}), "refuse invalid; ");
  EXPECT_EQ(ask(pauses(), hours(1)), "refuse invalid; ");
  EXPECT_EQ(ask({.answer = OnMessage::kRefuse, .lasts = hours(1)}), "refuse invalid; ");
  EXPECT_EQ(ask({.answer = OnMessage::kNone, .users = {7}}), "refuse invalid; ");
  EXPECT_THAT(story.refusal(), HasSubstr("--on-message"));
  EXPECT_THAT(ask({.answer = OnMessage::kRefuse}), HasSubstr("held 1"));
}

TEST_F(Messages, AreNotTakenWhileNothingCanBeWritten) {
  hold(1, MessageRule{.answer = OnMessage::kRefuse});
  (void)story.feed(JournalFailed{"/journal", {}, {}});
  EXPECT_EQ(send(kHolder), "refuse wrong_state; ");
}

// Leases that are asked for room because they are idle.
class MessagesForRoom : public Messages {
 protected:
  MessagesForRoom() : Messages(asking()) {
    story.hardware[0].figures.gpu_utilization = 0;
    (void)story.sample();
  }
  static Settings asking() {
    return {.order = Order::kFifo,
            .reserve = {},
            .idle = {.max = minutes(2), .action = IdleAction::kAsk}};
  }
  /// Lease n of 12 GiB has been idle for long, and the next one waits.
  void hold_idle(std::optional<MessageRule> rule = {}) {
    Request request = S::budget(gib(12));
    request.on_message = std::move(rule);
    (void)story.ask(std::move(request));
    run(1, gib(8));
    (void)seconds_pass(180);
  }
  std::string wait_for(Bytes vram = gib(8), std::uint32_t user = kOther) {
    return story.ask(S::budget(vram), user);
  }
};

TEST_F(MessagesForRoom, AskTheHolderOfAnIdleLeaseOnceAndMoveNothing) {
  hold_idle();
  EXPECT_EQ(wait_for(), "message 1; waiting 2; ");
  const Message asked = message();
  EXPECT_FALSE(asked.from);
  EXPECT_EQ(asked.whom, LeaseId{2});
  EXPECT_THAT(asked.text, AllOf(HasSubstr("lease 2 waits for 8.0 GiB"), HasSubstr("idle for")));
  EXPECT_EQ(seconds_pass(600), "");
}

TEST_F(MessagesForRoom, HaveOneThatAgreesMakeRoomAndComeBack) {
  hold_idle();
  (void)wait_for();
  EXPECT_EQ(agree(), "answer 1; move out 1; held 1; ");
  (void)transfer_done();
  story.use(1, {});
  EXPECT_THAT(story.second(), HasSubstr("grant 2; "));
  EXPECT_EQ(lease().halt->reason, Halt::Reason::kYields);
  (void)story.claim(2);
  (void)story.end(2);
  EXPECT_THAT(story.second(), HasSubstr("move back 1; "));
}

TEST_F(MessagesForRoom, DoNotAskOneThatRefusedForThisRequestAgain) {
  hold_idle();
  (void)wait_for();
  EXPECT_EQ(refuse(), "answer 1; held 1; ");
  EXPECT_EQ(seconds_pass(1'000), "");
  (void)story.feed(Cancel{{9}, {{kOther}}, {2}, {}});
  EXPECT_EQ(wait_for(), "message 1; waiting 3; ") << "another request";
}

TEST_F(MessagesForRoom, AreSentToOneLeaseOnceInMessageEvery) {
  hold_idle();
  (void)wait_for();
  (void)refuse();
  (void)story.feed(Cancel{{9}, {{kOther}}, {2}, {}});
  EXPECT_EQ(wait_for(), "waiting 3; ");
  EXPECT_THAT(seconds_pass(600), HasSubstr("message 1; "));
}

TEST_F(MessagesForRoom, AreAnsweredByARuleAsThoseOfTheUserWhoWaits) {
  hold_idle(pauses());
  EXPECT_EQ(wait_for(), "message 1; waiting 2; ") << "another user, whom the rule does not name";
  (void)story.feed(Cancel{{9}, {{kOther}}, {2}, {}});
  (void)refuse();
  (void)seconds_pass(600);
  EXPECT_THAT(wait_for(gib(8), kHolder), AllOf(HasSubstr("answer 1; "), HasSubstr("move out 1")));
}

TEST_F(MessagesForRoom, AreSentToNoOtherWhileOneThatIsPausedForThemLeaves) {
  for (const std::uint64_t n : {1U, 2U}) {
    Request request = S::budget(gib(8));
    request.on_message = pauses();
    (void)story.ask(std::move(request));
    run(n, gib(4));
  }
  (void)seconds_pass(180);
  const std::string heard = wait_for(gib(8), kHolder);
  EXPECT_EQ(heard, "message 2; answer 2; move out 2; waiting 3; ");
  EXPECT_EQ(lease(2).halt->reason, Halt::Reason::kPaused);
  (void)transfer_done();
  story.use(2, {});
  EXPECT_THAT(story.second(), HasSubstr("grant 3; "));
}

TEST_F(MessagesForRoom, AreSentToAllOfAWayAndNoneLeavesInVain) {
  for (const std::uint64_t n : {1U, 2U}) {
    (void)story.ask(S::budget(gib(8)));
    run(n, gib(4));
  }
  (void)seconds_pass(180);
  EXPECT_EQ(wait_for(gib(12)), "message 2; message 1; waiting 3; ");
  EXPECT_EQ(agree(), "answer 1; held 1; ");
  EXPECT_THAT(story.feed(AgreeToMessage{{71}, {{kHolder}}, {2}, {}}),
              AllOf(HasSubstr("move out 1; "), HasSubstr("move out 2; ")));
}

TEST_F(MessagesForRoom, AreNotSentWhereNothingIsToBeDone) {
  Settings none = asking();
  none.idle.action = IdleAction::kNone;
  (void)story.feed(Configured{none});
  hold_idle();
  EXPECT_EQ(wait_for(), "waiting 2; ");
  EXPECT_EQ(seconds_pass(600), "");
}

}  // namespace
}  // namespace berth::core
