// SPDX-License-Identifier: Apache-2.0
#include "os/child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "os/program_output.h"

namespace berth::os {
namespace {

ProgramOutput seen_of(const SpawnPlan& plan) {
  const auto output = output_of(plan, {.bytes_max = 4'096});
  EXPECT_TRUE(output.ok());
  return output.ok() ? *output : ProgramOutput{.status = -1};
}

TEST(Spawn, FindsTheProgramAndGivesItItsVariables) {
  ::setenv("BERTH_TEST_OLD", "old", 1);
  ::setenv("BERTH_TEST_KEPT", "kept", 1);
  const ProgramOutput seen = seen_of(
      {.words = {"sh", "-c", "echo $0 $BERTH_TEST_OLD $BERTH_TEST_NEW $BERTH_TEST_KEPT", "a b"},
       .variables = {{"BERTH_TEST_OLD", "changed"}, {"BERTH_TEST_NEW", "new"}}});
  EXPECT_EQ(seen.text, "a b changed new kept\n");
  EXPECT_EQ(seen.status, 0);
}

TEST(Spawn, TheProgramHasOnlyTheStandardDescriptors) {
  const int open_here = ::open("/dev/null", O_RDONLY);  // NOLINT: without O_CLOEXEC on purpose.
  ASSERT_GE(open_here, 0);
  EXPECT_EQ(seen_of({.words = {"ls", "/proc/self/fd"}}).text, "0\n1\n2\n3\n")
      << "3 is the directory that is listed";
  ::close(open_here);
}

// "GROUP SESSION", of the shell.
TEST(Spawn, TheProgramIsApart) {
  const std::string script = "read -r _ _ _ _ group session _ </proc/$$/stat; echo $group $session";
  const std::string session = std::to_string(::getsid(0));
  const ProgramOutput in_group = seen_of({.words = {"sh", "-c", script}});
  EXPECT_FALSE(in_group.text.starts_with(std::to_string(::getpgid(0)) + " "));
  EXPECT_TRUE(in_group.text.ends_with(" " + session + "\n"));
  const ProgramOutput in_session =
      seen_of({.words = {"sh", "-c", script}, .apart = Apart::kSession});
  EXPECT_FALSE(in_session.text.ends_with(" " + session + "\n"));
}

TEST(Spawn, WhatIsNoProgramIsSaid) {
  const auto child = spawn({.words = {"/nowhere/program"}});
  ASSERT_FALSE(child.ok());
  EXPECT_EQ(child.error().code, Errc::kNotFound);
  EXPECT_NE(child.error().message.find("/nowhere/program"), std::string::npos);
}

}  // namespace
}  // namespace berth::os
