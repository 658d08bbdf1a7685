// SPDX-License-Identifier: Apache-2.0
#include "os/child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

namespace berth::os {
namespace {

struct Seen {
  std::string output;
  int status = -1;
};

Seen output_of(SpawnPlan plan) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  plan.standard[1] = ends[1];
  const auto child = spawn(plan);
  ::close(ends[1]);
  Seen seen;
  std::array<char, 256> piece{};
  ssize_t count = 0;
  while ((count = ::read(ends[0], piece.data(), piece.size())) > 0) {
    seen.output.append(piece.data(), static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  if (child.ok()) {
    EXPECT_EQ(::waitpid(*child, &seen.status, 0), *child);
  }
  return seen;
}

TEST(Spawn, FindsTheProgramAndGivesItItsVariables) {
  ::setenv("BERTH_TEST_OLD", "old", 1);
  ::setenv("BERTH_TEST_KEPT", "kept", 1);
  const Seen seen = output_of(
      {.words = {"sh", "-c", "echo $0 $BERTH_TEST_OLD $BERTH_TEST_NEW $BERTH_TEST_KEPT", "a b"},
       .variables = {{"BERTH_TEST_OLD", "changed"}, {"BERTH_TEST_NEW", "new"}}});
  EXPECT_EQ(seen.output, "a b changed new kept\n");
  EXPECT_EQ(seen.status, 0);
}

TEST(Spawn, TheProgramHasOnlyTheStandardDescriptors) {
  const int open_here = ::open("/dev/null", O_RDONLY);  // NOLINT: without O_CLOEXEC on purpose.
  ASSERT_GE(open_here, 0);
  EXPECT_EQ(output_of({.words = {"ls", "/proc/self/fd"}}).output, "0\n1\n2\n3\n")
      << "3 is the directory that is listed";
  ::close(open_here);
}

// "GROUP SESSION", of the shell.
TEST(Spawn, TheProgramIsApart) {
  const std::string script = "read -r _ _ _ _ group session _ </proc/$$/stat; echo $group $session";
  const std::string session = std::to_string(::getsid(0));
  const Seen in_group = output_of({.words = {"sh", "-c", script}});
  EXPECT_FALSE(in_group.output.starts_with(std::to_string(::getpgid(0)) + " "));
  EXPECT_TRUE(in_group.output.ends_with(" " + session + "\n"));
  const Seen in_session = output_of({.words = {"sh", "-c", script}, .apart = Apart::kSession});
  EXPECT_FALSE(in_session.output.ends_with(" " + session + "\n"));
}

TEST(Spawn, WhatIsNoProgramIsSaid) {
  const auto child = spawn({.words = {"/nowhere/program"}});
  ASSERT_FALSE(child.ok());
  EXPECT_EQ(child.error().code, Errc::kNotFound);
  EXPECT_NE(child.error().message.find("/nowhere/program"), std::string::npos);
}

}  // namespace
}  // namespace berth::os
