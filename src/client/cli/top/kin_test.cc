// SPDX-License-Identifier: Apache-2.0
#include "cli/top/kin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/checked.h"
#include "os/processes.h"

namespace berth::cli::top {
namespace {

using ::testing::HasSubstr;

constexpr UserId kOwner = {7};

// A lease of which the process that started the tests is the command, and this one a member.
class TopKin : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::vector<Process> above = os::ancestors(os::self(), 1);
    if (above.empty() || above[0].pid <= 1) GTEST_SKIP() << "there is no process above this one";
    lease_.id = {12};
    lease_.user = kOwner;
    lease_.command = above[0];
    lease_.members = {{.pid = os::self().pid}};
  }
  /// This process, as it is told of when `told` was told before.
  ProcessFacts completed(std::vector<ProcessFacts> told, UserId viewer = kOwner) const {
    complete(told, {{lease_.id, lease_}}, viewer);
    EXPECT_EQ(told.size(), 2U);
    for (const ProcessFacts& process : told) {
      if (process.pid == os::self().pid) return process;
    }
    ADD_FAILURE() << "this process is not among them";
    return {};
  }
  ProcessFacts self(std::string name) const {
    return {.pid = os::self().pid, .lease = {12}, .name = std::move(name)};
  }
  static std::string name() { return os::process_state(os::self())->name; }

  LeaseView lease_;
};

TEST_F(TopKin, ParentsAndCommandsAreThoseOfProc) {
  const ProcessFacts found = completed({});
  EXPECT_EQ(found.parent, checked(lease_.command).pid);
  EXPECT_EQ(found.name, name());
  EXPECT_THAT(found.command, HasSubstr("cli_test"));
  EXPECT_EQ(completed({self(name())}).parent, checked(lease_.command).pid);
}

TEST_F(TopKin, CommandsOfOthersAreNotLookedUp) {
  const ProcessFacts found = completed({}, UserId{8});
  EXPECT_EQ(found.parent, checked(lease_.command).pid);
  EXPECT_EQ(found.command, "");
}

TEST_F(TopKin, AnotherProcessWithItsPidIsNotIt) {
  const ProcessFacts found = completed({self("python")});
  EXPECT_EQ(found.name, "python");
  EXPECT_EQ(found.parent, 0);
  EXPECT_EQ(found.command, "");
}

TEST_F(TopKin, InAnotherPidNamespaceNothingIsKnown) {
  ++checked(lease_.command).start_ticks;
  const ProcessFacts found = completed({});
  EXPECT_EQ(found.name, "");
  EXPECT_EQ(found.parent, 0);
  EXPECT_EQ(found.command, "");
}

}  // namespace
}  // namespace berth::cli::top
