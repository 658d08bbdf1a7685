// SPDX-License-Identifier: Apache-2.0
#include "wire/audit.h"

#include <gtest/gtest.h>

#include "wire/samples_for_test.h"

namespace berth::wire {
namespace {

std::vector<AuditEntry> some_entries() {
  return {{.at = {1'770'470'100'123},
           .verb = Verb::kPause,
           .by = samples::kBert,
           .lease = {12},
           .owner = samples::kAnna,
           .name = "train-gpt2",
           .reason = "a demo, for 10m00s"},
          {.at = {1'770'470'100'500}, .verb = Verb::kReload, .by = UserId{0}}};
}

TEST(Audit, AreWrittenWithNamesAndNullForWhatIsUnknown) {
  EXPECT_EQ(encode_audit({some_entries(),
                          {.time = {1'770'470'400'000},
                           .since = {1'770'470'100'000},
                           .until = {1'770'470'400'000},
                           .indices = {},
                           .names = samples::names()}}),
            R"({"schema":"berth/audit/v1","time":"2026-02-07T13:20:00.000Z",)"
            R"("since":"2026-02-07T13:15:00.000Z","until":"2026-02-07T13:20:00.000Z","items":[)"
            R"({"time":"2026-02-07T13:15:00.123Z","verb":"pause","by":"bert","by_id":1001,)"
            R"("lease":12,"user":"anna","user_id":1000,"name":"train-gpt2",)"
            R"("reason":"a demo, for 10m00s"},)"
            R"({"time":"2026-02-07T13:15:00.500Z","verb":"reload","by":null,"by_id":0,)"
            R"("lease":null,"user":null,"user_id":null,"name":null,"reason":null}]})");
}

TEST(Audit, AreReadBackAsTheyWereWritten) {
  const Result<AuditAnswer> answer =
      decode_audit(encode_audit({some_entries(), {.names = samples::names()}}));
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(answer->audit, some_entries());
  EXPECT_EQ(answer->facts.names, samples::names());
}

TEST(Audit, EachVerbHasAWord) {
  for (int i = 0; i <= static_cast<int>(Verb::kReload); ++i) {
    EXPECT_EQ(parse_word<Verb>(to_text(static_cast<Verb>(i))), static_cast<Verb>(i));
  }
  EXPECT_EQ(parse_word<Verb>("steal"), std::nullopt);
}

}  // namespace
}  // namespace berth::wire
