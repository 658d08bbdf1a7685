// SPDX-License-Identifier: Apache-2.0
#include "server/history_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/checked.h"

namespace berth::server {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr DeviceId kOneCard = {.high = 1, .low = 2};
constexpr UserId kOwner = {1000};
constexpr Process kRunner = {100, 7};
constexpr Process kSupervisor = {99, 6};

class HistoryRecorderTest : public testing::Test {
 protected:
  HistoryRecorderTest() : coordinator_(core::Settings{.reserve = {}}) {
    std::string name = testing::TempDir() + "berth-recorder-XXXXXX";
    CHECK(::mkdtemp(name.data()) != nullptr);
    directory_ = name;
    step(core::Recovered{});
    sample({}, false);
  }
  ~HistoryRecorderTest() override {
    recorder_.reset();
    std::filesystem::remove_all(directory_);
  }

  std::string path() const { return directory_ + "/history.db"; }
  void start(bool record = true) {
    const HistorySettings settings{.record = record,
                                   .retention = {.second = hours(2),
                                                 .minute = hours(24),
                                                 .hour = hours(2'160),
                                                 .size_max = mib(100)},
                                   .sample_interval = seconds(1)};
    recorder_ = std::make_unique<HistoryRecorder>(
        store::HistoryOptions{.path = path(), .wall = now_.wall}, settings,
        [this](const std::string& text) { said_.push_back(text); });
  }
  void pass(Duration time) {
    now_.instant = now_.instant + time;
    now_.wall.value += time.ns / milliseconds(1).ns;
  }
  void step(const core::Event& event) {
    for (core::Effect& effect : coordinator_.step(now_, event)) {
      const auto* append = std::get_if<core::Append>(&effect);
      if (append == nullptr || !recorder_) continue;
      if (const auto* end = std::get_if<LeaseEnded>(&append->record.fact)) {
        recorder_->ended(end->id);
      }
      if (const auto* again = std::get_if<LeaseRequeued>(&append->record.fact)) {
        recorder_->requeued(again->id, append->record.wall);
      }
    }
  }
  void sample(std::vector<ProcessSample> processes, bool record = true) {
    Sample sample{.asked_at = now_.instant, .answered_at = now_.instant};
    Bytes used;
    for (const ProcessSample& process : processes) used += checked(process.used);
    sample.devices.push_back({.id = kOneCard,
                              .capacity = gib(16),
                              .used = used,
                              .figures = {.driver_reserved = Bytes{}},
                              .processes = std::move(processes)});
    step(core::Sampled{sample});
    if (record) recorder_->sampled(sample, coordinator_, now_);
  }
  /// Lease 1, held by kRunner.
  void hold(Bytes vram, std::optional<Duration> requeue_grace = {}) {
    core::Submit submit{.actor = {.user = kOwner}, .handle = {1, 1}};
    submit.request.vram = vram;
    submit.request.name = "train";
    submit.request.requeue_grace = requeue_grace;
    if (requeue_grace) submit.supervisor = kSupervisor;
    step(submit);
    step(core::Claim{.actor = {.user = kOwner}, .handle = {1, 1}, .body = {kRunner}});
  }
  static ProcessSample job(Bytes used) {
    return {.process = kRunner, .used = used, .user = kOwner, .name = "python"};
  }
  Result<std::string> answer(HistoryAsk::What what, history::Question question = {}) {
    question.since = {0};
    question.until = {now_.wall.value + 1'000};
    std::optional<Result<std::string>> reply;
    recorder_->ask({.what = what, .question = question, .facts = {.time = now_.wall}}, coordinator_,
                   now_, [&](const Result<std::string>& body) { reply = body; });
    while (!reply) {
      pollfd ready{.fd = recorder_->descriptor().value_or(-1), .events = POLLIN, .revents = 0};
      if (::poll(&ready, 1, 30'000) != 1) break;
      recorder_->hear_reports();
    }
    return reply.value_or(Error{Errc::kTimedOut, "no report came"});
  }
  std::vector<history::Session> sessions() {
    const auto read = wire::decode_sessions(*answer(HistoryAsk::What::kSessions));
    return read.ok() ? read->sessions : std::vector<history::Session>{};
  }
  std::vector<history::Series> seconds_of(history::Kind kind) {
    const auto read =
        wire::decode_past(*answer(HistoryAsk::What::kPast, {.step = seconds(1), .kind = kind}));
    return read.ok() ? read->past.series : std::vector<history::Series>{};
  }

  std::string directory_;
  core::Coordinator coordinator_;
  core::Now now_ = {.instant = {seconds(1'000).ns}, .wall = {3'600'000}};
  std::unique_ptr<HistoryRecorder> recorder_;
  std::vector<std::string> said_;
};

TEST_F(HistoryRecorderTest, AnswersHoldWhatWasSeenUpToTheSecondBefore) {
  start();
  hold(gib(4));
  for (int i = 0; i < 3; ++i) {
    sample({job(gib(1))});
    pass(seconds(1));
  }
  const auto processes = seconds_of(history::Kind::kProcess);
  ASSERT_THAT(processes, SizeIs(1));
  EXPECT_THAT(processes[0].buckets, SizeIs(3));
  EXPECT_EQ(processes[0].subject.lease, LeaseId{1});
  EXPECT_EQ(processes[0].name, "python");
  EXPECT_THAT(seconds_of(history::Kind::kLease), SizeIs(2));
  EXPECT_THAT(seconds_of(history::Kind::kDevice), SizeIs(3));
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(HistoryRecorderTest, WritesByItselfFromTimeToTime) {
  start();
  EXPECT_EQ(recorder_->next(), Instant::never());
  sample({});
  EXPECT_EQ(recorder_->next(), now_.instant + HistoryRecorder::kWriteEvery);
  pass(HistoryRecorder::kWriteEvery);
  recorder_->on_timer(coordinator_, now_);
  EXPECT_EQ(recorder_->next(), Instant::never());
}

TEST_F(HistoryRecorderTest, ALeaseIsToldOfWhileItIsHeldAndWhenItHasEnded) {
  start();
  hold(gib(4));
  for (int i = 0; i < 4; ++i) {
    sample({job(gib(1))});
    pass(seconds(1));
  }
  std::vector<history::Session> listed = sessions();
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_EQ(listed[0].name, "train");
  EXPECT_EQ(listed[0].ended, std::nullopt);
  EXPECT_EQ(listed[0].known_ms, 3'000U);
  EXPECT_EQ(listed[0].unused_mib_ms, 3U * 3 * 1'024 * 1'000);
  step(core::ProcessEnded{kRunner});
  pass(seconds(1));
  sample({});
  listed = sessions();
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_TRUE(listed[0].ended.has_value());
  EXPECT_TRUE(listed[0].result.has_value());
  EXPECT_EQ(listed[0].peak, gib(1));
  EXPECT_EQ(listed[0].known_ms, 3'000U);
}

// It runs for four seconds, waits for ten, runs for two.
TEST_F(HistoryRecorderTest, WhatWasRequeuedHeldNothingMeanwhile) {
  start();
  hold(gib(4), seconds(5));
  const auto look = [&](int times) {
    for (int i = 0; i < times; ++i) {
      sample({job(gib(1))});
      pass(seconds(1));
    }
  };
  const auto held_ms = [&] {
    const std::vector<history::Session> listed = sessions();
    if (listed.size() != 1) return std::int64_t{-1};
    return listed[0].ended.value_or(now_.wall).value - listed[0].started.value;
  };
  look(4);
  step(core::AskRequeue{.actor = {.user = kOwner}, .lease = {1}});
  step(core::BeginRequeue{.actor = {.user = kOwner}, .handle = {1, 1}});
  step(core::ProcessEnded{kRunner});
  const core::Reconnect back{.actor = {.user = kOwner}, .handle = {1, 1}, .body = {.restarts = 1}};
  sample({});
  step(back);
  step(core::Park{.actor = {.user = kOwner}, .handle = {1, 1}});
  EXPECT_EQ(held_ms(), 4'000);
  pass(seconds(10));
  sample({});
  EXPECT_EQ(held_ms(), 4'000);
  step(core::Park{.actor = {.user = kOwner}, .handle = {1, 1}, .body = {.parked = false}});
  step(core::Claim{
      .actor = {.user = kOwner}, .handle = {1, 1}, .body = {.command = kRunner, .restarts = 1}});
  look(2);
  const std::vector<history::Session> listed = sessions();
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_EQ(listed[0].ended, std::nullopt);
  EXPECT_EQ(held_ms(), 6'000);
  EXPECT_EQ(listed[0].started.value - listed[0].queued.value, 10'000);
  EXPECT_EQ(listed[0].known_ms, 4'000U);
}

TEST_F(HistoryRecorderTest, TimeWithoutALookIsNotKnown) {
  start();
  hold(gib(4));
  sample({job(gib(1))});
  pass(hours(1));
  sample({job(gib(1))});
  ASSERT_THAT(sessions(), SizeIs(1));
  EXPECT_LT(sessions()[0].known_ms, 10'000U);
}

TEST_F(HistoryRecorderTest, TheEndOfADaemonLosesNothing) {
  start();
  hold(gib(4));
  sample({job(gib(1))});
  recorder_->finish(coordinator_, now_);
  start();
  EXPECT_THAT(seconds_of(history::Kind::kProcess), SizeIs(1));
}

TEST_F(HistoryRecorderTest, AnEndThatADaemonCouldNotWriteIsWrittenByTheNext) {
  start();
  hold(gib(4));
  sample({job(gib(1))});
  ASSERT_THAT(sessions(), SizeIs(1));
  recorder_.reset();
  step(core::ReportExit{.actor = {.user = kOwner}, .handle = {1, 1}});
  step(core::ProcessEnded{kRunner});
  pass(seconds(1));
  sample({}, false);
  start();
  const std::vector<history::Session> listed = sessions();
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_TRUE(listed[0].ended.has_value());
  EXPECT_NE(listed[0].result, EndResult::kLost);
}

TEST_F(HistoryRecorderTest, WhereNothingIsKeptItSaysSo) {
  start(false);
  sample({});
  const Result<std::string> listed = answer(HistoryAsk::What::kPast);
  ASSERT_FALSE(listed.ok());
  EXPECT_THAT(listed.error().message, HasSubstr("[history] record"));
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(HistoryRecorderTest, AFileThatCannotBeMadeIsSaidOnceAndStopsNothing) {
  std::filesystem::create_directory(path());
  start();
  for (int i = 0; i < 3; ++i) {
    sample({});
    pass(seconds(1));
    EXPECT_FALSE(answer(HistoryAsk::What::kPast).ok());
  }
  ASSERT_THAT(said_, SizeIs(1));
  EXPECT_THAT(said_[0], HasSubstr("no history is kept"));
  EXPECT_THAT(said_[0], HasSubstr("leases are not touched"));
  std::filesystem::remove(path());
  EXPECT_TRUE(answer(HistoryAsk::What::kPast).ok());
  ASSERT_THAT(said_, SizeIs(2));
  EXPECT_EQ(said_[1], "history is kept again");
}

TEST_F(HistoryRecorderTest, ADamagedFileIsMovedAsideAndAnotherBegun) {
  std::ofstream(path()) << std::string(5'000, 'x');
  start();
  sample({});
  pass(seconds(1));
  EXPECT_TRUE(answer(HistoryAsk::What::kPast).ok());
  ASSERT_THAT(said_, SizeIs(2));
  EXPECT_THAT(said_[1], HasSubstr("history.db was moved to history.db."));
}

TEST_F(HistoryRecorderTest, AFileThatIsRemovedIsBegunAnew) {
  start();
  sample({});
  pass(seconds(1));
  ASSERT_FALSE(seconds_of(history::Kind::kDevice).empty());
  std::filesystem::remove(path());
  sample({});
  pass(seconds(1));
  ASSERT_THAT(seconds_of(history::Kind::kDevice), SizeIs(3));
  EXPECT_THAT(seconds_of(history::Kind::kDevice)[0].buckets, SizeIs(1)) << "what was is lost";
  EXPECT_TRUE(std::filesystem::exists(path()));
  ASSERT_THAT(said_, SizeIs(1)) << "and that is said once";
  EXPECT_THAT(said_[0], HasSubstr("history.db was removed"));
}

TEST_F(HistoryRecorderTest, AClockThatIsSetBackStopsNothing) {
  start();
  hold(gib(4));
  const auto look_for = [&](int seconds_long) {
    for (int i = 0; i < seconds_long; ++i) {
      sample({job(gib(1))});
      pass(seconds(1));
    }
  };
  look_for(10);
  now_.wall.value -= 1'800'000;
  look_for(10);
  const auto devices = seconds_of(history::Kind::kDevice);
  ASSERT_THAT(devices, SizeIs(3));
  EXPECT_THAT(devices[0].buckets, SizeIs(10)) << "until now";
  now_.wall.value += 1'800'000;
  const auto found = sessions();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].known_ms, 19'000U);
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(HistoryRecorderTest, QuestionsOfOneUserThatPileUpAreRefusedAndThoseOfOthersComeInBetween) {
  start();
  constexpr std::size_t kTaken = HistoryRecorder::kAskedAtOnce + HistoryRecorder::kAskedMax;
  std::size_t refused = 0;
  std::size_t answered = 0;
  for (std::size_t i = 0; i < kTaken + 5; ++i) {
    recorder_->ask({.user = kOwner, .facts = {.time = now_.wall}}, coordinator_, now_,
                   [&](const Result<std::string>& body) { ++(body.ok() ? answered : refused); });
  }
  EXPECT_EQ(refused, 5U);
  std::optional<std::size_t> before;
  recorder_->ask({.user = {kOwner.value + 1}, .facts = {.time = now_.wall}}, coordinator_, now_,
                 [&](const Result<std::string>& body) {
                   EXPECT_TRUE(body.ok());
                   before = answered;
                 });
  while (answered < kTaken) {
    pollfd ready{.fd = recorder_->descriptor().value_or(-1), .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 30'000) != 1) break;
    recorder_->hear_reports();
  }
  EXPECT_EQ(answered, kTaken);
  EXPECT_LE(before.value_or(kTaken), HistoryRecorder::kAskedAtOnce + 1);
}

TEST_F(HistoryRecorderTest, MessagesAreKeptForTheNextDaemonEvenWhereNoHistoryIs) {
  const auto recalled = [&] {
    std::optional<KeptAlerts> kept;
    recorder_->recall(now_, [&](KeptAlerts listed) { kept = std::move(listed); });
    while (!kept) {
      pollfd ready{.fd = recorder_->descriptor().value_or(-1), .events = POLLIN, .revents = 0};
      if (::poll(&ready, 1, 30'000) != 1) break;
      recorder_->hear_reports();
    }
    return kept.value_or(KeptAlerts{});
  };
  start(false);
  EXPECT_TRUE(recalled().messages.empty());
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/history.db"));
  const AlertDelivery message{.number = 7, .id = "a", .rule = "r", .body = "{}"};
  const FiringAlert firing{.rule = "r", .when = "gpu.lost", .lease = {3}};
  EXPECT_TRUE(recorder_->keep(
      {.put = {message}, .drop = {}, .firing = std::vector{firing}, .now = now_.wall}));
  start(false);
  const KeptAlerts kept = recalled();
  EXPECT_EQ(kept.messages, std::vector{message});
  EXPECT_EQ(kept.firing, std::vector{firing});
}

}  // namespace
}  // namespace berth::server
