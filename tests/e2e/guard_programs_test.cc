// SPDX-License-Identifier: Apache-2.0
// Programs of unusual kinds are held to their budget like any other. Those that cannot be are in
// tests/cli/guard_programs.bats.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "guard.h"

namespace berth::e2e {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A sanitizer's run-time looks functions up before all others, and wants to be the first library.
class GuardSanitizerTest : public GuardTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(GuardSanitizerTest, IsHeldToItsBudgetByItselfAndAsAChild) {
  const std::string program = kCaller + "_" + GetParam();
  if (!std::filesystem::exists(program)) GTEST_SKIP() << "made by GCC, and in no sanitized build";
  world_.environment().erase("ASAN_OPTIONS");
  const std::string text = "retain 0\nalloc a 469762048\nalloc b 1\n";
  const Output direct = world_.run(lease("512M", {program, "dlsym"}), text);
  if (direct.err.contains("unexpected memory mapping")) {
    GTEST_SKIP() << "this sanitizer cannot live with as random addresses as this kernel's";
  }
  const Output child = world_.run(lease("512M", {"sh", "-c", program + " dlsym; exit $?"}), text);
  for (const Output& said : {direct, child}) {
    EXPECT_THAT(lines_of(said.out), ElementsAre("0", "0", "2"));
    EXPECT_THAT(said.err, IsEmpty());
    EXPECT_EQ(said.status, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, GuardSanitizerTest, ::testing::Values("address", "thread"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace berth::e2e
