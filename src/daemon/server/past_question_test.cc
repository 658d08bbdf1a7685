// SPDX-License-Identifier: Apache-2.0
#include "server/past_question.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::server {
namespace {

using testing::HasSubstr;

constexpr DeviceId kSeenCard = {.high = 1, .low = 2};
constexpr UserId kRequester = {1000};

class PastQuestionTest : public testing::Test {
 protected:
  PastQuestionTest() : coordinator_(core::Settings{.reserve = {}}) {
    (void)coordinator_.step(now_, core::Recovered{});
    Sample sample{.asked_at = now_.instant, .answered_at = now_.instant};
    sample.devices.push_back({.id = kSeenCard,
                              .index = 3,
                              .capacity = gib(16),
                              .used = Bytes{},
                              .processes = std::vector<ProcessSample>{}});
    (void)coordinator_.step(now_, core::Sampled{sample});
    core::Submit submit{.actor = {.user = kRequester}, .handle = {1, 1}};
    submit.request.vram = gib(1);
    submit.request.name = "train";
    (void)coordinator_.step(now_, submit);
  }
  std::variant<HistoryAsk, wire::ApiError> ask(wire::Route route, wire::QueryParts query) {
    return past_question({.route = route, .query = std::move(query)}, coordinator_,
                         {.user = kRequester}, now_, {});
  }
  history::Question question(wire::QueryParts query) {
    auto asked = ask(wire::Route::kHistory, std::move(query));
    const auto* found = std::get_if<HistoryAsk>(&asked);
    return found == nullptr ? history::Question{} : found->question;
  }
  std::string refusal(wire::QueryParts query) {
    auto asked = ask(wire::Route::kHistory, std::move(query));
    const auto* error = std::get_if<wire::ApiError>(&asked);
    return error == nullptr ? "none" : error->code + ": " + error->message;
  }

  core::Coordinator coordinator_;
  const core::Now now_ = {.instant = {seconds(1'000).ns}, .wall = {1'770'470'100'123}};
};

TEST_F(PastQuestionTest, DevicesAreNamedByIndexOrUuid) {
  EXPECT_EQ(question({{"device", "3"}}).device, kSeenCard);
  EXPECT_EQ(question({{"device", to_text(kSeenCard)}}).device, kSeenCard);
  // One that is gone may have a past.
  const DeviceId gone = {.high = 9, .low = 9};
  EXPECT_EQ(question({{"device", to_text(gone)}}).device, gone);
  EXPECT_EQ(question({}).device, std::nullopt);
  EXPECT_THAT(refusal({{"device", "4"}}), HasSubstr("no_device: there is no GPU '4' here"));
}

TEST_F(PastQuestionTest, LeasesAreNamedAsEverywhereAndByNumberForEver) {
  EXPECT_EQ(question({{"lease", "train"}}).lease, LeaseId{1});
  EXPECT_EQ(question({{"lease", "1"}}).lease, LeaseId{1});
  EXPECT_EQ(question({{"lease", "4711"}}).lease, LeaseId{4'711});
  EXPECT_THAT(refusal({{"lease", "nobody"}}), HasSubstr("not_found: "));
}

TEST_F(PastQuestionTest, OfFiguresTheLastHourOfLeasesTheLastWeek) {
  EXPECT_EQ(question({}).since.value, now_.wall.value - 3'600'000);
  auto asked = ask(wire::Route::kSessions, {});
  const auto* found = std::get_if<HistoryAsk>(&asked);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->what, HistoryAsk::What::kSessions);
  EXPECT_EQ(found->question.since.value, now_.wall.value - 7 * std::int64_t{86'400'000});
  EXPECT_EQ(found->facts.indices.at(kSeenCard), 3U);
}

TEST_F(PastQuestionTest, LeasesAreNotToldByWhatFiguresAreToldBy) {
  for (const auto& part : wire::QueryParts{{"device", "3"}, {"of", "process"}, {"step", "1m"}}) {
    const auto asked = ask(wire::Route::kSessions, {part});
    const auto* error = std::get_if<wire::ApiError>(&asked);
    ASSERT_NE(error, nullptr) << part.first;
    EXPECT_EQ(error->code, "bad_request");
  }
}

TEST_F(PastQuestionTest, EventsAreAskedForByUserAndNothingElseIs) {
  auto asked = ask(wire::Route::kAudit, {{"user", "1000"}, {"lease", "train"}});
  const auto* found = std::get_if<HistoryAsk>(&asked);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->what, HistoryAsk::What::kAudit);
  EXPECT_EQ(found->of_user, UserId{1000});
  EXPECT_EQ(found->question.lease, LeaseId{1});
  EXPECT_EQ(found->question.since.value, now_.wall.value - 7 * std::int64_t{86'400'000});
  const auto nobody = ask(wire::Route::kAudit, {{"user", "nobody"}});
  ASSERT_TRUE(std::holds_alternative<wire::ApiError>(nobody));
  EXPECT_EQ(std::get<wire::ApiError>(nobody).code, "not_found");
  EXPECT_THAT(refusal({{"user", "1000"}}), HasSubstr("unknown_field: "));
}

TEST_F(PastQuestionTest, WhatNobodyKnowsIsRefused) {
  EXPECT_THAT(refusal({{"sinse", "1h"}}), HasSubstr("unknown_field: "));
  EXPECT_THAT(refusal({{"since", "never"}}), HasSubstr("bad_request: "));
}

}  // namespace
}  // namespace berth::server
