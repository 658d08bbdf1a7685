// SPDX-License-Identifier: Apache-2.0
#include "cli/top/state.h"

#include <gtest/gtest.h>

#include "cli/top/sample_for_test.h"

namespace berth::cli::top {
namespace {

using Mode = State::Mode;

std::vector<std::uint64_t> ids(const std::vector<const LeaseView*>& leases) {
  std::vector<std::uint64_t> found;
  for (const LeaseView* lease : leases) found.push_back(lease->id.value);
  return found;
}
using Ids = std::vector<std::uint64_t>;

class TopState : public ::testing::Test {
 protected:
  TopState() { state_.take(sample::snapshot()); }
  Effects press(std::string_view keys) {
    Effects all;
    for (const Key& key : KeyReader().take(keys)) {
      for (Effect& effect : state_.press(key, 10)) all.push_back(std::move(effect));
    }
    return all;
  }
  /// The only effect, a request.
  Send sent(std::string_view keys) {
    const Effects effects = press(keys);
    const auto* send = effects.size() == 1 ? std::get_if<Send>(effects.data()) : nullptr;
    EXPECT_NE(send, nullptr) << keys;
    return send == nullptr ? Send{} : *send;
  }
  std::uint64_t chosen() const {
    return state_.chosen() == nullptr ? 0 : state_.chosen()->id.value;
  }

  State state_{Options{}};
};

TEST_F(TopState, RowsAreLeasesThatHoldAndTheQueueIsApart) {
  EXPECT_EQ(ids(state_.rows()), (Ids{11, 12, 13, 15, 19}));
  EXPECT_EQ(ids(state_.queue()), (Ids{21, 22}));
}

TEST_F(TopState, ArrowsGoThroughRowsAndQueueAndStopAtTheEnds) {
  press("\x1b[B");
  EXPECT_EQ(chosen(), 11U);
  press("\x1b[A");
  EXPECT_EQ(chosen(), 11U);
  press("jj");
  EXPECT_EQ(chosen(), 13U);
  press("\x1b[F");
  EXPECT_EQ(chosen(), 22U);
  press("\x1b[A\x1b[A\x1b[A");
  EXPECT_EQ(chosen(), 15U);
  press("\x1b[<65;1;1M");
  EXPECT_EQ(chosen(), 22U);
  press("\x1b[H");
  EXPECT_EQ(chosen(), 11U);
}

TEST_F(TopState, SortsByOneAfterTheOther) {
  press("o");  // session
  EXPECT_EQ(ids(state_.rows()), (Ids{19, 12, 13, 11, 15}));
  press("o");  // used
  EXPECT_EQ(ids(state_.rows()), (Ids{15, 19, 12, 13, 11}));
  press("o");  // busy
  EXPECT_EQ(state_.rows().front()->id.value, 12U);
  press("o");  // age: the oldest first
  EXPECT_EQ(state_.rows().front()->id.value, 15U);
  press("o");
  EXPECT_EQ(ids(state_.rows()), (Ids{11, 12, 13, 15, 19}));
}

TEST_F(TopState, FindsByNameCommandAndNumber) {
  press("/HYBRID\r");
  EXPECT_EQ(ids(state_.rows()), Ids{12});
  press("\x1b");
  (void)state_.press(Key{Key::Kind::kEscape}, 10);
  EXPECT_EQ(ids(state_.rows()).size(), 5U);
  press("/13\r");
  EXPECT_EQ(ids(state_.rows()), Ids{13});
  press("/\x7f\x7fvllm\r");
  EXPECT_EQ(ids(state_.rows()), Ids{15});
}

TEST_F(TopState, ShowsOneGpuOrOneUser) {
  press("g");
  EXPECT_EQ(ids(state_.rows()), (Ids{12, 13}));
  press("g");
  EXPECT_EQ(ids(state_.rows()), (Ids{11, 15, 19}));
  press("g");
  EXPECT_EQ(state_.rows().size(), 5U);
  press("u");
  EXPECT_EQ(ids(state_.rows()), (Ids{11, 12, 13, 19}));
}

TEST_F(TopState, APauseIsAskedAboutFirst) {
  state_.choose({12});
  EXPECT_TRUE(press("p").empty());
  EXPECT_EQ(state_.mode(), Mode::kConfirm);
  EXPECT_TRUE(press("n").empty());
  EXPECT_EQ(state_.said(), "Nothing was done.");
  const Send send = sent("py");
  EXPECT_EQ(send.route, Route::kSuspend);
  EXPECT_EQ(send.lease.value, 12U);
  EXPECT_EQ(state_.said(), "Pause 12 …");
  state_.answered(send, "");
  EXPECT_EQ(state_.said(), "Pause 12: done.");
  state_.answered(send, "it has already ended");
  EXPECT_EQ(state_.said(), "Pause 12: it has already ended");
}

TEST_F(TopState, ResumeAndSaveAreDoneAtOnce) {
  state_.choose({11});
  EXPECT_EQ(sent("r").route, Route::kResume);
  state_.choose({12});
  EXPECT_EQ(sent("s").route, Route::kCheckpoint);
}

TEST_F(TopState, WhatEndsIsALeasesCommandAReservationOrARequest) {
  state_.choose({12});
  EXPECT_EQ(sent("xy").route, Route::kCancel);
  state_.choose({13});  // A reservation.
  EXPECT_EQ(sent("xy").route, Route::kRelease);
  state_.choose({21});
  EXPECT_EQ(sent("xy").route, Route::kCancel);
}

TEST_F(TopState, AMessageIsTypedAndSentToOthersToo) {
  state_.choose({15});
  EXPECT_TRUE(press("p").empty());
  EXPECT_EQ(state_.said(), "15 is another user's. You can message them: m");
  EXPECT_EQ(state_.mode(), Mode::kList);
  EXPECT_TRUE(press("mq pleasx\x7f").empty());
  EXPECT_EQ(state_.typed(), "q pleas");  // No key is a command meanwhile.
  const Send send = sent("e?\r");
  EXPECT_EQ(send.route, Route::kMessage);
  EXPECT_EQ(std::get<MessageBody>(send.body).text, "q please?");
  press("mx");
  (void)state_.press(Key{Key::Kind::kEscape}, 10);
  EXPECT_EQ(state_.mode(), Mode::kList);
}

TEST_F(TopState, AViewThatCannotActSaysSo) {
  State reader{Options{.read_only = true}};
  reader.take(sample::snapshot());
  reader.choose({12});
  EXPECT_TRUE(reader.press(Key{.text = "p"}, 10).empty());
  EXPECT_EQ(reader.said(), "This view cannot act (--read-only).");
  EXPECT_EQ(reader.mode(), Mode::kList);
}

TEST_F(TopState, WithoutADaemonNothingIsSent) {
  state_.choose({12});
  state_.lost({1});
  EXPECT_TRUE(press("r").empty());
  EXPECT_EQ(state_.said(), "There is no connection to the daemon.");
  state_.lost({2});
  EXPECT_EQ(state_.lost_at(), UnixMs{1});
}

TEST_F(TopState, WhyIsAskedAnew) {
  state_.choose({21});
  const Effects effects = press("w");
  ASSERT_EQ(effects.size(), 1U);
  EXPECT_EQ(std::get<AskWhy>(effects[0]).lease.value, 21U);
  EXPECT_EQ(state_.why(), nullptr);
  state_.take(LeaseId{21}, WhyView{});
  EXPECT_NE(state_.why(), nullptr);
  press("q");  // Closes it, and does not quit.
  EXPECT_EQ(state_.mode(), Mode::kList);
  EXPECT_TRUE(std::holds_alternative<Quit>(press("q").at(0)));
}

TEST_F(TopState, AStoppedViewStandsStillAndGoesOn) {
  press(" ");
  state_.take(wire::LiveChange{.gone = std::vector<LeaseId>{{12}}});
  EXPECT_TRUE(state_.is_stopped());
  EXPECT_EQ(state_.rows().size(), 5U);
  press(" ");
  EXPECT_EQ(state_.rows().size(), 4U);
}

TEST_F(TopState, AChangeReplacesWhatItNames) {
  wire::LiveChange change{.time = sample::kNow};
  LeaseView lease = *state_.rows()[1];
  lease.state = LeaseState::kEnded;
  change.leases = {lease};
  change.queue = std::vector<LeaseId>{{22}};
  change.events =
      std::vector<AuditEntry>{{.at = sample::kNow, .verb = berth::Verb::kEnd, .lease = {12}}};
  state_.take(change);
  EXPECT_EQ(ids(state_.rows()), (Ids{11, 13, 15, 19}));
  EXPECT_EQ(ids(state_.queue()), Ids{22});
  EXPECT_EQ(state_.shown().events.front().lease.value, 12U);
}

TEST_F(TopState, ACourseHasTheMostOfEachStepAndHolesWhereNothingWasTold) {
  const auto tell = [&](std::int64_t seconds, std::optional<Bytes> used) {
    wire::LiveChange change{.time = {sample::kNow.value + seconds * 1'000}};
    DeviceView device = state_.shown().devices[0];
    device.used = used;
    change.devices = {device};
    state_.take(change);
  };
  tell(15, gib(5));
  tell(16, gib(3));
  tell(45, gib(1));
  const Course* course = state_.course(state_.shown().devices[0].id);
  ASSERT_NE(course, nullptr);
  ASSERT_EQ(course->used.size(), 4U);
  EXPECT_EQ(course->used[1], gib(5).value);
  EXPECT_EQ(course->used[2], std::nullopt);
  EXPECT_EQ(course->used[3], gib(1).value);
  for (int i = 0; i < 500; ++i) tell(60 + i * 15, gib(1));
  EXPECT_EQ(course->used.size(), kCourseSteps);
  EXPECT_EQ(course->busy.size(), kCourseSteps);
  tell(1'000'000, gib(1));
  EXPECT_EQ(course->used.size(), 1U);
}

TEST_F(TopState, ThePastStandsBeforeWhatIsLive) {
  const DeviceId device = state_.shown().devices[0].id;
  const std::int64_t now = sample::kNow.value / 1'000 / 15 * 15;
  history::Past past;
  past.series = {
      {.subject = {.device = device},
       .buckets = {{.start = now - 45, .most = gib(7)}, {.start = now - 15, .most = gib(2)}}},
      {.subject = {.device = device, .figure = history::Figure::kUtilization},
       .buckets = {{.start = now - 15, .most = Bytes{60}}}},
      {.subject = {.device = device, .lease = {12}},
       .buckets = {{.start = now - 15, .most = gib(99)}}}};
  state_.take(past);
  const Course* course = state_.course(device);
  ASSERT_EQ(course->used.size(), 4U);
  EXPECT_EQ(course->used[0], gib(7).value);
  EXPECT_EQ(course->used[1], std::nullopt);
  EXPECT_EQ(course->used[2], gib(2).value);
  EXPECT_EQ(course->busy[2], 60U);
}

}  // namespace
}  // namespace berth::cli::top
