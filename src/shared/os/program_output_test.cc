// SPDX-License-Identifier: Apache-2.0
#include "os/program_output.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace berth::os {
namespace {

Result<ProgramOutput> shell(const char* script, const OutputBounds& bounds) {
  return output_of({.words = {"sh", "-c", script}}, bounds);
}

TEST(ProgramOutput, HasWhatItPrintedAndHowItEnded) {
  const auto done = shell("printf one; printf two; exit 3", {.bytes_max = 64});
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->text, "onetwo");
  ASSERT_TRUE(WIFEXITED(done->status));
  EXPECT_EQ(WEXITSTATUS(done->status), 3);
}

TEST(ProgramOutput, MoreThanIsKeptIsReadAllTheSame) {
  const auto done = shell("printf 12345678; head -c 200000 /dev/zero", {.bytes_max = 6});
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->text, "123456");
  EXPECT_TRUE(WIFEXITED(done->status));
}

TEST(ProgramOutput, OneThatTakesTooLongIsKilledAndWhatItSaidIsKept) {
  const auto done =
      shell("printf so; exec sleep 60", {.bytes_max = 64, .within = milliseconds(500)});
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->text, "so");
  ASSERT_TRUE(WIFSIGNALED(done->status));
  EXPECT_EQ(WTERMSIG(done->status), SIGKILL);
}

TEST(ProgramOutput, OneThatIsNotThereIsAnError) {
  EXPECT_FALSE(output_of({.words = {"/no/such/program"}}, {.bytes_max = 64}).ok());
}

}  // namespace
}  // namespace berth::os
