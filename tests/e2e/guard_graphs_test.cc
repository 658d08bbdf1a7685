// SPDX-License-Identifier: Apache-2.0
// Programs that know nothing of Berth and whose graphs allocate memory, held to the budget of their
// lease by each way by which a program comes to the driver. 512 MiB: 64 for the context, 448 for
// the program, which is 14 of the driver's chunks.
#include <gmock/gmock.h>

#include "guard.h"

namespace berth::e2e {
namespace {

class GuardGraphsTest : public GuardRouteTest {
 protected:
  // The lines of the answers.
  std::vector<std::string> said_to(const std::string& text) const {
    const Output said = calls("512M", GetParam().name, "retain 0\n" + text);
    EXPECT_EQ(said.err, "");
    std::vector<std::string> lines = lines_of(said.out);
    if (!lines.empty()) lines.erase(lines.begin());
    return lines;
  }
  static std::string left(std::uint64_t mib) {
    return "0 " + std::to_string(mib * kMiB) + " " + std::to_string(512 * kMiB);
  }
  static std::string bytes(std::uint64_t mib) { return std::to_string(mib * kMiB) + "\n"; }
};

TEST_P(GuardGraphsTest, WhatALaunchReservesIsChargedUntilItIsTrimmed) {
  const std::vector<std::string> said = said_to("cuGraphCreate &g 0\ng_alloc g p " + bytes(100) +
                                                "g_free g p\n"
                                                "cuGraphInstantiateWithFlags &e g 0\ninfo\n"
                                                "cuGraphLaunch e 0\ninfo\n"
                                                "cuGraphLaunch e 0\ninfo\n"
                                                "cuGraphExecDestroy e\ninfo\n"
                                                "cuDeviceGraphMemTrim 0\ninfo\n");
  EXPECT_THAT(said, ::testing::ElementsAre("0", "0", "0", "0", left(448), "0", left(320), "0",
                                           left(320), "0", left(320), "0", left(448)));
  EXPECT_EQ(driver()["used_max_bytes"], (64 + 128) * kMiB);
}

TEST_P(GuardGraphsTest, ALaunchBeyondTheBudgetIsRefusedBeforeAnythingIsReserved) {
  const std::vector<std::string> said =
      said_to("alloc a " + bytes(200) + "cuGraphCreate &g 0\ng_alloc g p " + bytes(200) +
              "g_alloc g q " + bytes(25) +
              "cuGraphInstantiateWithFlags &e g 0\n"
              "cuGraphLaunch e 0\n"  // 256, and there are 248.
              "cuGraphUpload e 0\ninfo\nfree a\n"
              "cuGraphLaunch e 0\ninfo\n");
  EXPECT_THAT(said, ::testing::ElementsAre("0", "0", "0", "0", "0", "2", "2", left(248), "0", "0",
                                           left(192)));
  EXPECT_EQ(driver()["used_max_bytes"], (64 + 256) * kMiB);
}

TEST_P(GuardGraphsTest, WhatGraphsKeepForLaterIsGivenUpForAnAllocation) {
  const std::vector<std::string> said =
      said_to("cuGraphCreate &g 0\ng_alloc g p " + bytes(100) +
              "g_free g p\n"
              "cuGraphInstantiateWithFlags &e g 0\ncuGraphLaunch e 0\n"
              "alloc a " +
              bytes(330) +
              "info\ncuGraphLaunch e 0\n"  // Its memory is gone.
              "free a\ncuGraphLaunch e 0\ninfo\n");
  EXPECT_THAT(said, ::testing::ElementsAre("0", "0", "0", "0", "0", "0", left(118), "2", "0", "0",
                                           left(320)));
  EXPECT_LE(driver()["used_max_bytes"], 512 * kMiB);
}

TEST_P(GuardGraphsTest, WhatAGraphLeftAllocatedIsNotGivenUp) {
  const std::vector<std::string> said = said_to("cuGraphCreate &g 0\ng_alloc g p " + bytes(100) +
                                                "cuGraphInstantiateWithFlags &e g 0\n"
                                                "cuGraphLaunch e 0\nalloc a " +
                                                bytes(330) +
                                                "cuGraphExecDestroy e\n"
                                                "cuDeviceGraphMemTrim 0\ninfo\n"
                                                "free p\nalloc a " +
                                                bytes(330));
  EXPECT_THAT(said, ::testing::ElementsAre("0", "0", "0", "0", "2", "0", "0", left(320), "0", "0"));
}

TEST_P(GuardGraphsTest, WhatIsCapturedIsChargedWhenItIsLaunched) {
  const std::vector<std::string> said = said_to(
      "cuStreamCreate &s 1\n"
      "cuStreamBeginCapture_v2 s 0\n"
      "cuMemAllocAsync &p 419430400 s\ninfo\n"
      "cuMemAllocAsync &q 419430400 s\n"
      "cuMemFreeAsync p s\ncuMemFreeAsync q s\n"
      "cuStreamEndCapture s &g\n"
      "cuGraphInstantiateWithFlags &e g 0\n"
      "cuGraphLaunch e s\ninfo\n"
      "cuStreamBeginCapture_v2 s 0\n"
      "cuMemAllocAsync &p 419430400 s\n"
      "cuStreamEndCapture s &g\n"
      "cuGraphInstantiateWithFlags &e g 0\n"
      "cuGraphLaunch e s\ninfo\n");
  EXPECT_THAT(said, ::testing::ElementsAre("0", "0", "0", left(448), "0", "0", "0", "0", "0", "2",
                                           left(448), "0", "0", "0", "0", "0", left(448 - 416)));
}

// The default stream of a thread, which only the functions for it mean by 0.
TEST_P(GuardGraphsTest, EachThreadsOwnStreamIsCapturedToo) {
  const std::vector<std::string> said = said_to(
      "cuStreamBeginCapture_v2_ptsz 0 0\n"
      "cuMemAllocAsync_ptsz &p 419430400 0\n"
      "cuMemAllocAsync_ptsz &q 419430400 0\n"
      "cuStreamEndCapture_ptsz 0 &g\ninfo\n"
      "cuGraphInstantiateWithFlags &e g 0\n"
      "cuGraphLaunch_ptsz e 0\n");
  EXPECT_THAT(said, ::testing::ElementsAre("0", "0", "0", "0", left(448), "0", "2"));
}

TEST_P(GuardGraphsTest, ACaptureIsNotDisturbedByWhatIsDoneForTheBudget) {
  const std::vector<std::string> said = said_to(
      "async a 1000\nfree_async a\ninfo\n"  // The pool keeps its chunk.
      "cuStreamCreate &s 1\ncuStreamCreate &t 1\n"
      "cuStreamBeginCapture_v2 s 0\ncuMemAllocAsync &p 1000 s\n"
      "cuMemAllocAsync &b 469762048 t\n"  // All 448 MiB: the chunk is given back for it.
      "cuStreamEndCapture s &g\n");
  EXPECT_THAT(said, ::testing::ElementsAre("0", "0", left(416), "0", "0", "0", "0", "0", "0"));
}

TEST_P(GuardGraphsTest, WhatCannotBeFreedInACaptureStaysCharged) {
  const std::vector<std::string> said = said_to("alloc a " + bytes(400) +
                                                "cuStreamCreate &s 1\n"
                                                "cuStreamBeginCapture_v2 s 0\n"
                                                "cuMemFreeAsync a s\n"  // No graph's memory.
                                                "cuStreamEndCapture s &g\ninfo\n"
                                                "alloc b " +
                                                bytes(100) +
                                                "cuMemFreeAsync a s\n"
                                                "alloc b " +
                                                bytes(100));
  EXPECT_THAT(said, ::testing::ElementsAre("0", "0", "0", "1", "901", left(48), "2", "0", "0"));
}

class GuardGraphUploadTest : public GuardGraphsTest {};

TEST_P(GuardGraphUploadTest, OneThatIsUploadedAtOnceIsChargedAtOnce) {
  const std::vector<std::string> said = said_to("cuGraphCreate &g 0\ng_alloc g p " + bytes(100) +
                                                "g_params e g 2\ninfo\n"
                                                "alloc a " +
                                                bytes(310) +
                                                "cuGraphLaunch e 0\ninfo\n"
                                                "cuGraphCreate &h 0\ng_alloc h q " +
                                                bytes(30) +
                                                "g_params f h 2\ng_params f h 0\n"
                                                "cuGraphLaunch f 0\n");
  EXPECT_THAT(said, ::testing::ElementsAre("0", "0", "0", left(320), "0", "0", left(10), "0", "0",
                                           "2", "0", "2"));
}

TEST_P(GuardGraphsTest, ItGoesWithTheLastContextOfItsDevice) {
  const std::vector<std::string> said =
      said_to("cuGraphCreate &g 0\ng_alloc g p " + bytes(100) +
              "cuGraphInstantiateWithFlags &e g 0\ncuGraphLaunch e 0\n"
              "reset 0\nretain 0\ninfo\n");
  EXPECT_THAT(said, ::testing::ElementsAre("0", "0", "0", "0", "0", "0", left(448)));
}

INSTANTIATE_TEST_SUITE_P(Routes, GuardGraphsTest, ::testing::ValuesIn(all_routes(11040)),
                         [](const auto& route) { return name_of(route.param); });
INSTANTIATE_TEST_SUITE_P(Routes, GuardGraphUploadTest, ::testing::ValuesIn(all_routes(12000)),
                         [](const auto& route) { return name_of(route.param); });

class GuardGraphNodeTest : public GuardGraphsTest {};

TEST_P(GuardGraphNodeTest, WhatIsInAGraphInAGraphIsChargedToo) {
  std::string properties = " 1 0 1 0";  // Of a pool: 22 numbers.
  for (int i = 0; i < 18; ++i) properties += " 0";
  const std::vector<std::string> said = said_to(
      "cuGraphCreate &g 0\ncuGraphCreate &c 0\n"
      "ints node 10 0 0 0" +
      properties + " 0 0 0 0 " + std::to_string(200 * kMiB) +
      " 0\ncuGraphAddNode_v2 &n c 0 0 0 node\n"
      "ints inner 4 0 0 0 c 0 1\ncuGraphAddNode_v2 &n g 0 0 0 inner\n"
      "cuGraphInstantiateWithFlags &e g 0\nalloc a " +
      bytes(250) + "cuGraphLaunch e 0\nfree a\ncuGraphLaunch e 0\ninfo\n");
  EXPECT_THAT(said, ::testing::ElementsAre("0", "0", "0", "0", "0", "0", "0", "0", "2", "0", "0",
                                           left(448 - 224)));
}

INSTANTIATE_TEST_SUITE_P(Routes, GuardGraphNodeTest, ::testing::ValuesIn(all_routes(12030)),
                         [](const auto& route) { return name_of(route.param); });

TEST_F(GuardTest, NoRaceForGraphsExceedsTheBudget) {
  const std::string one =
      "printf 'retain 0\\nrace_graphs 4 3000 41943040\\nrelease 0\\n' | " + kCaller + " dlsym";
  const Output said =
      world_.run(lease("400M", {"sh", "-c", "for i in 1 2 3; do (" + one + ") & done; wait"}));
  EXPECT_EQ(lines_of(said.out).size(), 9U) << said.err;
  EXPECT_LE(driver()["used_max_bytes"], 400 * kMiB);
  EXPECT_GT(driver()["used_max_bytes"], 300 * kMiB);
  EXPECT_EQ(driver()["used_bytes"], 0);
}

TEST_F(GuardTest, AllFormsOfInstantiationAreKnown) {
  const std::string graph = "cuGraphCreate &g 0\ng_alloc g p 419430400\n";
  for (const char* made : {"cuGraphInstantiate &e g 0 0 0", "cuGraphInstantiate_v2 &e g 0 0 0",
                           "cuGraphInstantiateWithFlags &e g 0", "g_params e g 0"}) {
    const Output said = calls("512M", "dlsym",
                              "retain 0\nalloc a 104857600\n" + graph + made +
                                  "\ncuGraphLaunch e 0\nfree a\n"
                                  "cuGraphLaunch e 0\n");
    EXPECT_THAT(lines_of(said.out), ::testing::ElementsAre("0", "0", "0", "0", "0", "2", "0", "0"))
        << made;
  }
}

}  // namespace
}  // namespace berth::e2e
