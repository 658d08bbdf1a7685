// SPDX-License-Identifier: Apache-2.0
#include "wire/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/error.h"
#include "wire/routes.h"
#include "wire/samples_for_test.h"

namespace berth::wire {
namespace {

using testing::HasSubstr;

constexpr UnixMs kNow = {1'770'470'100'123};

Result<PastQuery> query(const QueryParts& parts) {
  return decode_past_query(parts, kNow, hours(1));
}

TEST(PastQuery, WithoutPartsIsTheTimeBeforeNow) {
  const auto read = query({});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->since.value, kNow.value - 3'600'000);
  EXPECT_EQ(read->until, kNow);
  EXPECT_EQ(read->step, Duration{});
  EXPECT_EQ(read->kind, std::nullopt);
}

TEST(PastQuery, TimesAreSoLongAgoOrWrittenOut) {
  const auto read = query({{"since", "2026-02-07T12:00:00.000Z"},
                           {"until", "5m"},
                           {"step", "30s"},
                           {"device", "0"},
                           {"lease", "train"},
                           {"of", "process"}});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->since.value, 1'770'465'600'000);
  EXPECT_EQ(read->until.value, kNow.value - 300'000);
  EXPECT_EQ(read->step, seconds(30));
  EXPECT_EQ(read->device, "0");
  EXPECT_EQ(read->lease, "train");
  EXPECT_EQ(read->kind, history::Kind::kProcess);
}

TEST(PastQuery, OfATimeTheEndMayBeLeftOut) {
  for (const char* time : {"2026-02-07T12:00:00.000Z", "2026-02-07T12:00:00Z", "2026-02-07T12:00Z",
                           "2026-02-07T12:00:00.000", "2026-02-07T12:00"}) {
    const auto read = query({{"since", time}});
    ASSERT_TRUE(read.ok()) << time;
    EXPECT_EQ(read->since.value, 1'770'465'600'000) << time;
  }
  EXPECT_EQ(query({{"since", "2026-02-07"}})->since.value, 1'770'422'400'000);
  for (const char* wrong :
       {"2026-02", "2026-02-30", "2026-02-07T", "2026-02-07T12", "2026-02-07T12:00:00.0Z", "Z"}) {
    EXPECT_FALSE(query({{"since", wrong}}).ok()) << wrong;
  }
}

TEST(PastQuery, WhatMakesNoSenseIsRefusedByName) {
  for (const auto& [key, value] : QueryParts{{"since", "yesterday"},
                                             {"until", "-1h"},
                                             {"step", "1ms"},
                                             {"step", "2d"},
                                             {"of", "gpu"},
                                             {"since", ""}}) {
    const auto read = query({{key, value}});
    ASSERT_FALSE(read.ok()) << key << "=" << value;
    EXPECT_EQ(to_api_error(read.error()).code, "bad_request");
    EXPECT_THAT(read.error().message, HasSubstr("'" + key + "'"));
  }
  const auto backwards = query({{"since", "1m"}, {"until", "1h"}});
  ASSERT_FALSE(backwards.ok());
  const auto unknown = query({{"form", "1h"}});
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(to_api_error(unknown.error()).code, "unknown_field");
}

TEST(PastQuery, IsHandedOnByTheRoutesOfThePastAlone) {
  const auto match = match_route("GET", "/v1/history?since=2h&of=lease");
  const auto* found = std::get_if<RouteMatch>(&match);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->query, (QueryParts{{"since", "2h"}, {"of", "lease"}}));
  const auto other = match_route("GET", "/v1/status?since=2h");
  EXPECT_TRUE(std::holds_alternative<ApiError>(other));
}

TEST(PastAnswer, ReadsBackAsItWasWritten) {
  const history::Past past = samples::past();
  const auto read = decode_past(encode_past({past, samples::past_facts()}));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->past.step, past.step);
  EXPECT_TRUE(read->past.cut);
  ASSERT_EQ(read->past.series.size(), past.series.size());
  for (std::size_t i = 0; i < past.series.size(); ++i) {
    EXPECT_EQ(read->past.series[i].subject, past.series[i].subject) << i;
    EXPECT_EQ(read->past.series[i].name, past.series[i].name);
    EXPECT_EQ(read->past.series[i].user, past.series[i].user);
    EXPECT_EQ(read->past.series[i].buckets, past.series[i].buckets);
  }
  EXPECT_EQ(read->facts.since, samples::past_facts().since);
  EXPECT_EQ(read->facts.until, samples::past_facts().until);
  EXPECT_EQ(read->facts.indices, samples::past_facts().indices);
  EXPECT_EQ(read->facts.names.at(samples::kAnna), "anna");
}

TEST(PastAnswer, SessionsReadBackAsTheyWereWritten) {
  const auto sessions = samples::sessions();
  const auto read = decode_sessions(encode_sessions({sessions, samples::past_facts()}));
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->sessions.size(), 2U);
  const history::Session& first = read->sessions[0];
  EXPECT_EQ(first.id, LeaseId{12});
  EXPECT_EQ(first.share, Share::kExclusive);
  EXPECT_EQ(first.ended, sessions[0].ended);
  EXPECT_EQ(first.result, EndResult::kFailed);
  EXPECT_EQ(first.peak, gib(3));
  EXPECT_EQ(first.used_mib_ms, 5'000U);
  EXPECT_EQ(first.unused_mib_ms, 7'000U);
  const history::Session& second = read->sessions[1];
  EXPECT_EQ(second.ended, std::nullopt);
  EXPECT_EQ(second.result, std::nullopt);
  EXPECT_EQ(second.peak, std::nullopt);
  EXPECT_EQ(second.known_ms, 0U);
}

TEST(PastAnswer, TellsHowLongAndOnHowManyDevices) {
  const std::string text = encode_sessions({samples::sessions(), samples::past_facts()});
  EXPECT_THAT(text, HasSubstr(R"("wait_ms":3000,"held_ms":10000,"gpu_ms":20000)"));
  // The other is held until now, and nothing is known of its use.
  EXPECT_THAT(text, HasSubstr(R"("held_ms":97123,"gpu_ms":97123)"));
  EXPECT_THAT(text, HasSubstr(R"("vram_unused_mib_seconds":null)"));
}

}  // namespace
}  // namespace berth::wire
