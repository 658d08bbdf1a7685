// SPDX-License-Identifier: Apache-2.0
#include "sim/accounts.h"

#include <gtest/gtest.h>

#include "sim/context.h"

namespace berth::sim {
namespace {

Device device(std::uint64_t number) {
  return {.id = {number, 1, false},
          .model = "GPU",
          .capacity = gib(16),
          .figures = {},
          .lost = false,
          .uses = {}};
}

/// A lease with one program on two GPUs of three: 3 GiB on the first, 1 GiB on the second.
class AccountsTest : public testing::Test {
 protected:
  AccountsTest() {
    lease.id = LeaseId{7};
    lease.handle = {5, 4};
    accounts.set_budgets(lease, on({0, 1}));
    EXPECT_TRUE(devices.allocate(program, 0, gib(3)));
    EXPECT_TRUE(devices.allocate(program, 1, gib(1)));
  }

  std::vector<Part> on(const std::vector<std::size_t>& indices) const {
    std::vector<Part> parts;
    for (const std::size_t index : indices) parts.push_back({devices.at(index).id, gib(4)});
    return parts;
  }

  SimContext context{1, false};
  Processes processes{context, 0};
  Process program = processes.spawn({.parent = {},
                                     .user = {},
                                     .name = {},
                                     .lease = Handle{5, 4},
                                     .outer = {},
                                     .subreaper = false,
                                     .ignores_term = false,
                                     .on_end = {}});
  Devices devices{context, processes, {device(1), device(2), device(3)}, {}};
  Accounts accounts{devices};
  LeaseView lease;
};

TEST_F(AccountsTest, AProgramChargesWhatItTakes) {
  accounts.question();
  const std::vector<ChargeSample> charges = accounts.charges();
  ASSERT_EQ(charges.size(), 2U);
  EXPECT_EQ(charges[0].charged, gib(3));
  EXPECT_EQ(charges[1].charged, gib(1));
  EXPECT_TRUE(charges[0].unchanged);
}

TEST_F(AccountsTest, WhatIsTakenAndFreedBetweenQuestionAndAnswerIsAChange) {
  accounts.question();
  EXPECT_TRUE(devices.allocate(program, 0, gib(1)));
  devices.free(program, 0, gib(1));
  EXPECT_FALSE(accounts.charges()[0].unchanged);
}

TEST_F(AccountsTest, WhatIsInHostMemoryStaysChargedWhereItsLeaseIsNow) {
  devices.move_out(program);
  EXPECT_EQ(accounts.charges()[0].charged, gib(3));
  accounts.set_budgets(lease, on({1, 2}));
  const std::vector<ChargeSample> charges = accounts.charges();
  EXPECT_EQ(charges[0].device, devices.at(1).id);
  EXPECT_EQ(charges[0].charged, gib(3));
  EXPECT_EQ(charges[1].charged, gib(1));
}

TEST_F(AccountsTest, APeakStays) {
  (void)accounts.charges();
  devices.free(program, 0, gib(2));
  EXPECT_EQ(accounts.charges()[0].peak, gib(3));
}

TEST_F(AccountsTest, ALeaseInsideItMayLeaveMoreBehindThanItCharges) {
  EXPECT_TRUE(accounts.charges_all(lease.handle));
  const Process inner = processes.spawn({.parent = program,
                                         .user = {},
                                         .name = {},
                                         .lease = Handle{6, 6},
                                         .outer = {lease.id},
                                         .subreaper = false,
                                         .ignores_term = false,
                                         .on_end = {}});
  EXPECT_TRUE(devices.allocate(inner, 0, gib(1)));
  EXPECT_FALSE(accounts.charges_all(lease.handle));
}

TEST_F(AccountsTest, ALeaseWithoutBudgetsHasNone) {
  accounts.set_budgets(lease, {});
  EXPECT_TRUE(accounts.charges().empty());
}

TEST_F(AccountsTest, EverySecondHandleRunsWithoutTheGuard) {
  lease.handle = {5, 5};
  accounts.set_budgets(lease, on({0}));
  EXPECT_EQ(accounts.charges().size(), 2U);  // Of the other.
}

}  // namespace
}  // namespace berth::sim
