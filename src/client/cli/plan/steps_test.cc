// SPDX-License-Identifier: Apache-2.0
#include "cli/plan/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using What = UpStep::What;

constexpr UserId kAna{1000};
const std::string kLabel = plan_label("/home/ana/berth.toml");

class UpSteps : public testing::Test {
 protected:
  static PlannedSession planned(const std::string& name,
                                const std::vector<std::string>& after = {}) {
    PlannedSession session{.name = name, .options = {"--vram=1G"}, .command = {name}};
    for (const std::string& one : after) session.after.push_back({.session = one});
    return session;
  }
  /// A lease of that session, as the plan has it by now.
  LeaseView& lease(std::uint64_t id, const std::string& name, LeaseState state) {
    LeaseView view{.id = {id}, .user = kAna, .state = state};
    view.request.name = name;
    view.request.labels = {{std::string(kPlanLabel), kLabel},
                           {std::string(kDefinitionLabel), plan.find(name)->fingerprint()}};
    all.push_back(view);
    return all.back();
  }
  void ended(std::uint64_t id, const std::string& name, EndResult result = EndResult::kOk) {
    lease(id, name, LeaseState::kEnded).result = result;
  }
  /// "a starts", "b goes on as 2", …
  std::vector<std::string> steps(const Wanted& wanted = {}) {
    std::vector<std::string> told;
    for (const UpStep& step : up_steps(plan, leases_of_plan(all, kAna, kLabel), wanted)) {
      const std::string lease = step.lease ? " " + to_text(*step.lease) : "";
      const char* what = step.what == What::kGoesOn   ? " goes on"
                         : step.what == What::kIsDone ? " is done"
                         : step.what == What::kStart  ? " starts"
                                                      : " is replaced";
      told.push_back(step.session->name + what + lease);
    }
    return told;
  }

  Plan plan{{planned("prepare"), planned("train", {"prepare"}), planned("notebook")}};
  std::vector<LeaseView> all;
};

TEST_F(UpSteps, WhatIsNotThereStarts) {
  EXPECT_THAT(steps(), ElementsAre("prepare starts", "train starts", "notebook starts"));
}

TEST_F(UpSteps, WhatRunsOrWaitsUnchangedGoesOn) {
  lease(1, "prepare", LeaseState::kHeld);
  lease(2, "train", LeaseState::kWaiting);
  lease(3, "notebook", LeaseState::kSuspended);
  EXPECT_THAT(steps(), ElementsAre("prepare goes on 1", "train goes on 2", "notebook goes on 3"));
}

TEST_F(UpSteps, WhatHasEndedWellIsNotStartedAgain) {
  ended(1, "prepare");
  ended(2, "train", EndResult::kFailed);
  ended(3, "notebook", EndResult::kCancelled);
  EXPECT_THAT(steps(), ElementsAre("prepare is done 1", "train starts", "notebook starts"));
}

TEST_F(UpSteps, WhatHasEndedWellIsStartedAgainWhereThatIsWanted) {
  ended(1, "prepare");
  ended(2, "train");
  EXPECT_THAT(steps({.sessions = {"train"}, .again = true}),
              ElementsAre("prepare is done 1", "train starts"));
  EXPECT_THAT(steps({.sessions = {}, .again = true}),
              ElementsAre("prepare starts", "train starts", "notebook starts"));
}

TEST_F(UpSteps, WhatIsSaidOtherwiseByNowIsReplaced) {
  lease(1, "prepare", LeaseState::kHeld);
  ended(2, "train");
  plan.sessions[0].options = {"--vram=2G"};
  plan.sessions[1].options = {"--vram=2G"};
  EXPECT_THAT(steps(), ElementsAre("prepare is replaced 1", "train starts", "notebook starts"));
}

TEST_F(UpSteps, WhatHasEndedAfterOneThatStartsAnewStartsAnewToo) {
  ended(1, "prepare", EndResult::kFailed);
  ended(2, "train");
  lease(3, "notebook", LeaseState::kHeld);
  EXPECT_THAT(steps(), ElementsAre("prepare starts", "train starts", "notebook goes on 3"));
}

TEST_F(UpSteps, NamedOnesBringWhatTheyComeAfter) {
  EXPECT_THAT(steps({.sessions = {"train"}}), ElementsAre("prepare starts", "train starts"));
  EXPECT_THAT(steps({.sessions = {"notebook"}}), ElementsAre("notebook starts"));
}

TEST_F(UpSteps, TheYoungestLeaseOfASessionCounts) {
  ended(4, "notebook");
  lease(5, "notebook", LeaseState::kHeld);
  ended(3, "notebook");
  EXPECT_THAT(steps({.sessions = {"notebook"}}), ElementsAre("notebook goes on 5"));
}

TEST_F(UpSteps, LeasesOfOthersOfOtherPlansAndMembersDoNotCount) {
  lease(1, "notebook", LeaseState::kHeld).user = UserId{1001};
  lease(2, "notebook", LeaseState::kHeld).request.labels[std::string(kPlanLabel)] = "1";
  lease(3, "notebook", LeaseState::kHeld).request.member = SetMember{{2}, 1};
  EXPECT_THAT(leases_of_plan(all, kAna, kLabel), IsEmpty());
}

}  // namespace
}  // namespace berth::cli
