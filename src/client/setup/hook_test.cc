// SPDX-License-Identifier: Apache-2.0
#include "setup/hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/json_tree.h"

namespace berth::setup {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(HookInput, TakesWhatItKnowsAndLeavesTheRest) {
  const auto input = read_hook_input(
      R"({"session_id": "abc-123", "cwd": "/x", "new": [1], "tool_name": "Bash",
          "tool_input": {"command": "ls", "timeout": 3}})");
  ASSERT_TRUE(input.ok()) << input.error().message;
  EXPECT_EQ(input->session, "abc-123");
  EXPECT_EQ(input->tool, "Bash");
  EXPECT_EQ(input->command, "ls");
  EXPECT_TRUE(read_hook_input(R"({"tool_input": null})").ok());
  for (const char* wrong : {"[]", "{", "x", R"({"session_id": 3})"}) {
    EXPECT_FALSE(read_hook_input(wrong).ok()) << wrong;
  }
}

TEST(SessionName, HasNothingThatAShellWouldRead) {
  EXPECT_EQ(session_name("0b1c-22;rm -rf"), "claude-0b1c-22rm-");
  EXPECT_EQ(session_name("$(x)\n'\""), "claude-x");
  EXPECT_EQ(session_variables(session_name("ab")), "export BERTH_SESSION=claude-ab\n");
}

TEST(PreToolUse, AGpuCommandIsAnsweredWithTheLineThatHasALease) {
  const std::string answer =
      pre_tool_use_answer({.tool = "Bash", .command = "cd x && python train.py"}, {});
  EXPECT_TRUE(is_json(answer)) << answer;
  EXPECT_THAT(answer, StartsWith(R"({"hookSpecificOutput":{"hookEventName":"PreToolUse",)"
                                 R"("permissionDecision":"deny","permissionDecisionReason":")"));
  EXPECT_THAT(answer, HasSubstr("Run instead: cd x && berth run -m auto -- python train.py"));
  EXPECT_THAT(pre_tool_use_answer({.tool = "Bash", .command = "python train.py"}, LeaseId{12}),
              HasSubstr("Run instead: berth run --lease 12 -- python train.py"));
}

TEST(PreToolUse, AllElseGoesOn) {
  EXPECT_EQ(pre_tool_use_answer({.tool = "Bash", .command = "ls"}, {}), "");
  EXPECT_EQ(pre_tool_use_answer({.tool = "Bash", .command = "berth run -m 8G -- python x"}, {}),
            "");
  EXPECT_EQ(pre_tool_use_answer({.tool = "Read", .command = "python x"}, {}), "");
  EXPECT_EQ(pre_tool_use_answer({}, {}), "");
}

TEST(SessionStart, TellsTheModelHowGpusAreUsedHere) {
  EXPECT_TRUE(is_json(session_start_answer()));
  EXPECT_THAT(session_start_answer(),
              StartsWith(R"({"hookSpecificOutput":{"hookEventName":"SessionStart",)"));
  EXPECT_THAT(session_start_answer(), HasSubstr("berth run -m 8G -- COMMAND"));
}

}  // namespace
}  // namespace berth::setup
