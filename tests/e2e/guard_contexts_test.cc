// SPDX-License-Identifier: Apache-2.0
// Memory of contexts beside allocations: green contexts, which are held to the budget like others,
// and code and limits, which are not seen by what stands in front of the driver, and must not be
// harmed by it. 512 MiB: 64 for the context, 448 for the program.
#include <gmock/gmock.h>

#include "guard.h"

namespace berth::e2e {
namespace {

using ::testing::ElementsAre;

const std::string kFree = "0 " + std::to_string(448 * kMiB) + " " + std::to_string(512 * kMiB);
const std::string kAll = std::to_string(448 * kMiB) + "\n";
// A fat binary that says it is of 3 MiB, and its header's 16 bytes.
const std::string kImage = "ints image 3126193488 1048577 3145728 0\n";

class GuardContextsTest : public GuardRouteTest {};

TEST_P(GuardContextsTest, CodeIsLoadedBeyondTheBudgetAndNotCharged) {
  const Output said =
      calls("512M", GetParam().name,
            "retain 0\n" + kImage + "cuModuleLoadData &m image\ninfo\nalloc a " + kAll +
                "cuModuleLoadDataEx &n image 0 0 0\ncuModuleUnload n\ncuModuleUnload n\n"
                "cuModuleLoadFatBinary &n image\nreset 0\nretain 0\ninfo\n");
  EXPECT_THAT(lines_of(said.out),
              ElementsAre("0", "0", "0", kFree, "0", "0", "0", "400", "0", "0", "0", kFree));
  EXPECT_THAT(said.err, ::testing::IsEmpty());
  EXPECT_EQ(driver()["used_max_bytes"], (512 + 2 * 4) * kMiB);
}

TEST_P(GuardContextsTest, LimitsAreSetAndNotCharged) {
  const Output said = calls("512M", GetParam().name,
                            "retain 0\ncuCtxSetLimit 2 67108864\ninfo\ncuCtxGetLimit &v 2\n"
                            "value v\ncuCtxSetLimit 99 1\n");
  EXPECT_THAT(lines_of(said.out), ElementsAre("0", "0", kFree, "0", "67108864", "215"));
  EXPECT_EQ(driver()["used_max_bytes"], (64 + 56) * kMiB);
}

class GuardLibraryTest : public GuardRouteTest {};

TEST_P(GuardLibraryTest, LibrariesAreLoadedBeyondTheBudgetAndNotCharged) {
  const Output said = calls("512M", GetParam().name,
                            "retain 0\n" + kImage + "alloc a " + kAll +
                                "cuLibraryLoadData &l image 0 0 0 0 0 0\n"
                                "cuLibraryUnload l\ncuLibraryUnload l\n");
  EXPECT_THAT(lines_of(said.out), ElementsAre("0", "0", "0", "0", "0", "400"));
  EXPECT_EQ(driver()["used_max_bytes"], (512 + 4) * kMiB);
}

class GuardGreenTest : public GuardRouteTest {
 protected:
  static constexpr const char* kGreen =
      "ints parts 1\ncuDevResourceGenerateDesc &what parts 1\ncuGreenCtxCreate &g what 0 1\n";
  static constexpr const char* kUse = "cuCtxFromGreenCtx &c g\ncuCtxSetCurrent c\n";
};

TEST_P(GuardGreenTest, AGreenContextIsChargedAsTheFirstOneOfItsDevice) {
  EXPECT_THAT(lines_of(calls("32M", GetParam().name, kGreen).out), ElementsAre("0", "0", "2"));
  EXPECT_EQ(driver()["used_max_bytes"], 0);
  const Output said = calls("512M", GetParam().name,
                            std::string(kGreen) + kUse + "info\nalloc a " + kAll +
                                "alloc b 1\ncuGreenCtxDestroy g\nretain 0\ninfo\n");
  EXPECT_THAT(lines_of(said.out),
              ElementsAre("0", "0", "0", "0", "0", kFree, "0", "2", "0", "0", kFree));
  EXPECT_EQ(driver()["used_max_bytes"], 512 * kMiB);
}

TEST_P(GuardGreenTest, WhatIsAllocatedInOneIsThePrimaryOnes) {
  const Output said = calls("512M", GetParam().name,
                            "retain 0\n" + std::string(kGreen) + kUse + "alloc a " + kAll +
                                "cuGreenCtxDestroy g\nretain 0\nalloc b 1\n"  // It has it still.
                                "reset 0\nretain 0\ninfo\n");
  EXPECT_THAT(lines_of(said.out),
              ElementsAre("0", "0", "0", "0", "0", "0", "0", "0", "0", "2", "0", "0", kFree));
}

const auto kNameOf = [](const auto& route) { return name_of(route.param); };
INSTANTIATE_TEST_SUITE_P(Routes, GuardContextsTest, ::testing::ValuesIn(all_routes()), kNameOf);
INSTANTIATE_TEST_SUITE_P(Routes, GuardLibraryTest, ::testing::ValuesIn(all_routes(12000)), kNameOf);
INSTANTIATE_TEST_SUITE_P(Routes, GuardGreenTest, ::testing::ValuesIn(all_routes(12040)), kNameOf);

}  // namespace
}  // namespace berth::e2e
