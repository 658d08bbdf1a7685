// SPDX-License-Identifier: Apache-2.0
#include "cli/run/start_time.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>

#include "base/quantity.h"

namespace berth::cli {
namespace {

/// Where clocks are two hours before UTC in summer and one in winter; it is 2026-02-07T13:15:00Z.
class StartTime : public testing::Test {
 protected:
  StartTime() {
    ::setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    ::tzset();
  }
  ~StartTime() override {
    ::unsetenv("TZ");
    ::tzset();
  }
  std::string at(std::string_view text) const {
    const Result<UnixMs> when = parse_start_time(text, now);
    return when.ok() ? to_text(*when) : "refused";
  }
  UnixMs now{1'770'470'100'000};
};

TEST_F(StartTime, IsSoLongFromNow) {
  EXPECT_EQ(at("90m"), "2026-02-07T14:45:00.000Z");
  EXPECT_EQ(at("1h30m"), "2026-02-07T14:45:00.000Z");
  EXPECT_EQ(at("0s"), "refused");
}

TEST_F(StartTime, IsTheNextTimeThatAClockHereShowsIt) {
  EXPECT_EQ(at("18:30"), "2026-02-07T17:30:00.000Z");
  EXPECT_EQ(at("14:15:01"), "2026-02-07T13:15:01.000Z");
  EXPECT_EQ(at("14:15"), "2026-02-08T13:15:00.000Z") << "that is now";
  EXPECT_EQ(at("8:05"), "2026-02-08T07:05:00.000Z");
  now = {1'774'702'800'000};  // 2026-03-28T13:00Z; the next night is an hour shorter.
  EXPECT_EQ(at("08:00"), "2026-03-29T06:00:00.000Z");
}

TEST_F(StartTime, IsADateHereOrInUtc) {
  EXPECT_EQ(at("2026-02-09T08:00"), "2026-02-09T07:00:00.000Z");
  EXPECT_EQ(at("2026-07-09 08:00:30"), "2026-07-09T06:00:30.000Z");
  EXPECT_EQ(at("2026-02-09T08:00Z"), "2026-02-09T08:00:00.000Z");
  EXPECT_EQ(at("2020-01-01T00:00Z"), "2020-01-01T00:00:00.000Z") << "that is at once";
}

TEST_F(StartTime, NothingElse) {
  for (const char* text : {"", "soon", "25:00", "18:60", "2026-02-30T08:00", "2026-13-01T08:00",
                           "2026-02-09", "2026-02-09T08:00+01:00", "18:30Z", "-5m", "18:30 "}) {
    EXPECT_EQ(at(text), "refused") << text;
  }
}

}  // namespace
}  // namespace berth::cli
