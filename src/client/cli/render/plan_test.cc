// SPDX-License-Identifier: Apache-2.0
#include "cli/render/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth::cli {
namespace {

using testing::HasSubstr;
using What = UpStep::What;

std::vector<OutlookRow> rows() {
  return {{.session = "sweep",
           .starts = hours(1),
           .ends = hours(2),
           .reason = WhyView::Reason::kMemory,
           .holders = {"train", "8 (n8)"}},
          {.session = "train",
           .what = What::kGoesOn,
           .lease = LeaseId{7},
           .starts = Duration{},
           .ends = hours(1)},
          {.session = "prepare", .what = What::kIsDone, .lease = LeaseId{6}},
          {.session = "late", .reason = WhyView::Reason::kAfter}};
}

TEST(PlanText, IsALineOfTimeInOrderOfStart) {
  EXPECT_EQ(plan_text(rows(), {.charset = {.unicode = false}, .now = {}}),
            "SESSION  LEASE  STARTS  ENDS       now .. 2h                         WHY\n"
            "prepare      6          ended: ok\n"
            "train        7  runs    in 1h      ################\n"
            "sweep           in 1h   in 2h      ................################  "
            "waits for memory: train, 8 (n8)\n"
            "late            ?       ?          ................................  "
            "starts after others\n");
}

TEST(PlanText, SaysThatWhatHasChangedIsStartedAnew) {
  const std::vector<OutlookRow> changed = {
      {.session = "train", .what = What::kReplace, .lease = LeaseId{7}, .starts = Duration{}}};
  EXPECT_THAT(plan_text(changed, {.now = {}}), HasSubstr("it has changed: started anew"));
}

TEST(PlanJson, HasNullForWhatIsNotKnown) {
  const std::string json = plan_json(rows(), {1'700'000'000'000}, true);
  EXPECT_THAT(json, HasSubstr(R"("schema":"berth/plan/v1")"));
  EXPECT_THAT(json, HasSubstr(R"({"session":"sweep","id":null,"step":"start",)"
                              R"("starts_in_ms":3600000,"ends_in_ms":7200000,"reason":"memory",)"
                              R"x("holders":["train","8 (n8)"]})x"));
  EXPECT_THAT(json, HasSubstr(R"({"session":"late","id":null,"step":"start",)"
                              R"("starts_in_ms":null,"ends_in_ms":null,"reason":"after",)"
                              R"("holders":[]})"));
}

}  // namespace
}  // namespace berth::cli
