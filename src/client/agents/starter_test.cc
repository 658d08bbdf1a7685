// SPDX-License-Identifier: Apache-2.0
#include "agents/starter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::agents {
namespace {

using Words = std::vector<std::string>;
using testing::ElementsAre;

RunArguments of(Words command, const std::string& memory) {
  RunArguments arguments{.command = std::move(command)};
  arguments.room.memory = memory;
  return arguments;
}

// What follows the shell that has no input.
Words submitted(const RunArguments& arguments, std::string_view client) {
  Words words = submit_words("/b/berth", arguments, client, {});
  EXPECT_EQ(words[0], "/usr/bin/env");
  EXPECT_EQ(words[1], "/bin/sh");
  return {words.begin() + 5, words.end()};
}

TEST(SubmitWords, AreThoseOfAPersonWithTheClientsName) {
  EXPECT_THAT(submitted(of({"python", "a b.py"}, "8G"), "claude-code"),
              ElementsAre("/b/berth", "submit", "-q", "--name=claude-code", "--vram=8G", "--",
                          "python", "a b.py"));
  RunArguments whole = of({"x"}, "");
  whole.room.exclusive = true;
  whole.room.gpus = 2;
  EXPECT_THAT(submitted(whole, ""), ElementsAre("/b/berth", "submit", "-q", "--name=agent",
                                                "--exclusive", "--gpus=2", "--", "x"));
}

// A name is what the client says of itself, and a command may look like an option.
TEST(SubmitWords, AreNoOptionsWhateverTheySay) {
  EXPECT_THAT(submitted(of({"--exclusive"}, "8G"), "-x --\n" + std::string(100, 'y')),
              ElementsAre("/b/berth", "submit", "-q", "--name=-x -- " + std::string(34, 'y'),
                          "--vram=8G", "--", "--exclusive"));
}

TEST(SubmitWords, LeaveOutTheVariablesOfTheAgent) {
  const Words words = submit_words("/b/berth", of({"x"}, "8G"), "c",
                                   {"PATH", "CLAUDECODE", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"});
  EXPECT_EQ(Words(words.begin(), words.begin() + 6),
            (Words{"/usr/bin/env", "-u", "CLAUDECODE", "-u", "ANTHROPIC_API_KEY", "/bin/sh"}));
}

}  // namespace
}  // namespace berth::agents
