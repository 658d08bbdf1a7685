// SPDX-License-Identifier: Apache-2.0
#include "cli/plan/outlook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using What = UpStep::What;

class OutlookTest : public testing::Test {
 protected:
  static constexpr UserId kMe{1000};
  static constexpr UserId kOther{1001};
  static constexpr UnixMs kNow{1'700'000'000'000};
  static constexpr DeviceId kDevice{0xd0, 1};

  OutlookTest() {
    present.now = kNow;
    present.devices.push_back(
        {.id = kDevice, .model = "A", .capacity = gib(16), .used = Bytes{}, .held_back = gib(1)});
  }
  static UnixMs in(Duration time) { return {kNow.value + time.ns / 1'000'000}; }
  /// A session that a step of `what` is about; what it asks for is 8 GiB for an hour.
  void session(const std::string& name, What what = What::kStart, std::uint64_t lease = 0,
               const std::vector<std::string>& after = {}) {
    PlannedSession one{.name = name};
    for (const std::string& other : after) one.after.push_back({other, Ends::kOk});
    plan.push_back(one);
    UpStep step{.what = what};
    if (lease != 0) step.lease = LeaseId{lease};
    steps.push_back(step);
    requests.push_back({.request = {.name = name, .vram = gib(8), .eta = hours(1)}});
  }
  LeaseView& holds(std::uint64_t id, Bytes vram, std::optional<Duration> ends, UserId user = kMe) {
    LeaseView lease{.id = {id}, .user = user, .state = LeaseState::kHeld};
    lease.request.vram = vram;
    lease.request.name = "n" + std::to_string(id);
    lease.parts = {{.device = kDevice, .granted = vram}};
    if (ends) lease.expected_end = in(*ends);
    present.leases.push_back(lease);
    return present.leases.back();
  }
  std::vector<OutlookRow> rows() {
    for (std::size_t i = 0; i < steps.size(); ++i) steps[i].session = &plan[i];
    return outlook(present, steps, requests, kMe, {.order = Order::kFifo});
  }

  Present present;
  std::vector<PlannedSession> plan;
  std::vector<UpStep> steps;
  std::vector<RequestBody> requests;
};

TEST_F(OutlookTest, OneThatRunsEndsWhenItIsExpectedTo) {
  holds(7, gib(8), minutes(20));
  session("train", What::kGoesOn, 7);
  const OutlookRow row = rows().at(0);
  EXPECT_EQ(row.starts, Duration{});
  EXPECT_EQ(row.ends, minutes(20));
  EXPECT_EQ(row.lease, LeaseId{7});
  EXPECT_EQ(row.reason, std::nullopt);
}

TEST_F(OutlookTest, OneThatWouldWaitSaysForWhomAndUntilWhen) {
  holds(7, gib(8), minutes(20));
  holds(8, gib(4), minutes(10), kOther);
  session("train", What::kGoesOn, 7);
  session("sweep");
  const OutlookRow row = rows().at(1);
  EXPECT_EQ(row.starts, minutes(20));
  EXPECT_EQ(row.ends, minutes(80));
  EXPECT_EQ(row.reason, WhyView::Reason::kMemory);
  EXPECT_THAT(row.holders, testing::UnorderedElementsAre("train", "8 (n8)"));
}

TEST_F(OutlookTest, WhatComesAfterStartsBehindIt) {
  session("prepare");
  session("train", What::kStart, 0, {"prepare"});
  const std::vector<OutlookRow> told = rows();
  EXPECT_EQ(told.at(0).starts, Duration{});
  EXPECT_EQ(told.at(1).starts, hours(1));
  EXPECT_EQ(told.at(1).reason, WhyView::Reason::kAfter);
  EXPECT_THAT(told.at(1).holders, ElementsAre("prepare"));
}

TEST_F(OutlookTest, WhatHasEndedIsNotWaitedFor) {
  session("prepare", What::kIsDone, 3);
  session("train", What::kStart, 0, {"prepare"});
  const std::vector<OutlookRow> told = rows();
  EXPECT_EQ(told.at(0).starts, std::nullopt);
  EXPECT_EQ(told.at(1).starts, Duration{});
}

TEST_F(OutlookTest, WhatIsReplacedMakesRoom) {
  holds(7, gib(12), std::nullopt);
  session("train", What::kReplace, 7);
  EXPECT_EQ(rows().at(0).starts, Duration{});
}

TEST_F(OutlookTest, WhatWaitsComesBeforeWhatIsNotAskedForYet) {
  holds(7, gib(8), minutes(20));
  LeaseView waits{.id = {9}, .user = kOther, .state = LeaseState::kWaiting};
  waits.request.vram = gib(8);
  waits.request.eta = minutes(30);
  waits.request.after = {{{7}, Ends::kAny}, {{5}, Ends::kAny}};  // 5 is over.
  present.queue.push_back(waits);
  session("train");
  session("waits", What::kGoesOn, 9);
  const std::vector<OutlookRow> told = rows();
  EXPECT_EQ(told.at(1).starts, minutes(20));
  EXPECT_EQ(told.at(0).starts, minutes(50));
}

TEST_F(OutlookTest, ASetRunsFromItsFirstMemberToItsLast) {
  LeaseView set{.id = {9}, .user = kMe, .state = LeaseState::kWaiting};
  set.request.vram = gib(5);
  set.request.eta = minutes(10);
  set.request.members = 5;
  set.set = SetProgress{.begun = 2};
  present.queue.push_back(set);
  holds(10, gib(5), minutes(4)).request.member = SetMember{{9}, 1};
  holds(11, gib(5), minutes(6)).request.member = SetMember{{9}, 2};
  session("sweep", What::kGoesOn, 9);
  const OutlookRow row = rows().at(0);
  EXPECT_EQ(row.starts, Duration{});
  EXPECT_EQ(row.ends, minutes(16));
}

TEST_F(OutlookTest, OfNoDeviceNothingIsKnown) {
  present.devices.clear();
  session("train");
  EXPECT_EQ(rows().at(0).starts, std::nullopt);
}

}  // namespace
}  // namespace berth::cli
