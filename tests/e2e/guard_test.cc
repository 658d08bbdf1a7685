// SPDX-License-Identifier: Apache-2.0
// Programs that know nothing of Berth, held to the budget of their lease: by each way by which a
// program comes to the driver, in races, and when they are killed. What the simulated driver counts
// is the judge, not what the guard believes.
#include "guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "random_calls.h"

namespace berth::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_P(GuardRouteTest, TheBudgetEndsWithItsLastByte) {
  // 512 MiB: 64 for the context, 448 for the program.
  const Output said = calls("512M", GetParam().name,
                            "retain 0\n"
                            "alloc a 209715200\n"  // 200 MiB
                            "alloc b 262144000\n"  // 250 MiB: 2 too many
                            "alloc c 260046848\n"  // 248 MiB
                            "alloc d 1\n"
                            "free a\n"
                            "alloc e 209715200\n"
                            "alloc f 1\n");
  EXPECT_THAT(lines_of(said.out), ::testing::ElementsAre("0", "0", "2", "0", "2", "0", "0", "2"));
  EXPECT_THAT(said.err, IsEmpty());
  EXPECT_EQ(driver()["used_max_bytes"], 512 * kMiB);
}

TEST_P(GuardRouteTest, AProgramSeesACardOfItsBudgetsSize) {
  const Output said = calls("1G", GetParam().name, "retain 0\nalloc a 104857600\ninfo\ntotal 0\n");
  const std::uint64_t left = (1024 - 64 - 100) * kMiB;
  EXPECT_THAT(lines_of(said.out),
              ::testing::ElementsAre("0", "0", "0 " + std::to_string(left) + " 1073741824",
                                     "0 1073741824"));
}

TEST_P(GuardRouteTest, WhatAContextHadIsThereAgainWhenItIsGone) {
  const Output said = calls("512M", GetParam().name,
                            "create one\ncreate two\n"
                            "alloc a 104857600\nalloc b 1000\n"
                            "destroy two\n"
                            "current one\nalloc c 469762048\n"  // All 448 MiB that are not context.
                            "destroy one\n"
                            "retain 0\nalloc d 469762048\nreset 0\n"
                            "retain 0\nalloc e 469762048\nrelease 0\n"
                            "retain 0\nalloc f 469762048\n");
  EXPECT_THAT(lines_of(said.out), ::testing::Each(::testing::Eq("0"))) << said.out;
}

TEST_P(GuardRouteTest, EachKindOfMemoryIsRefusedAtTheLastPageAndNotBefore) {
  // 448 MiB for the program: 447 by one kind, so that 2 MiB of any kind are too many.
  const std::string full = std::to_string(446 * kMiB);
  const std::string page = std::to_string(2 * kMiB);
  for (const std::string& kind : std::vector<std::string>{
           "alloc a " + full, "managed a " + full, "m_create a " + full, "pitch a 1048576 446"}) {
    const Output said = calls("512M", GetParam().name,
                              "retain 0\n" + kind + "\nalloc b " + page + "\nalloc c " + page +
                                  "\nmanaged d 1\nm_create e " + page + "\npitch f 4 1\n");
    EXPECT_THAT(lines_of(said.out), ::testing::ElementsAre("0", "0", "0", "2", "2", "2", "2"))
        << kind << said.err;
  }
  EXPECT_EQ(driver()["used_max_bytes"], 512 * kMiB);
}

// Elements of 16 bytes: rows of 4096 are 64 KiB, so 32 rows are a page.
TEST_P(GuardRouteTest, ArraysAreChargedWithWhatTheDriverSaysTheyTake) {
  const Output said = calls("512M", GetParam().name,  // 448 MiB for the program.
                            "retain 0\n"
                            "array a 4096 7136\n"  // 446 MiB
                            "array b 4096 32\n"
                            "array c 1 1\nalloc d 1\n"
                            "unarray b\n"
                            "array3 e 64 32 65 0\n"  // 2.03 MiB
                            "array3 e 64 32 64 0\n"
                            "unarray e\nunarray a\nunarray a\n"
                            "info\n");
  const std::string empty = "0 " + std::to_string(448 * kMiB) + " " + std::to_string(512 * kMiB);
  EXPECT_THAT(lines_of(said.out), ::testing::ElementsAre("0", "0", "0", "2", "2", "0", "2", "0",
                                                         "0", "0", "400", empty));
  EXPECT_THAT(said.err, IsEmpty());
  EXPECT_EQ(driver()["used_max_bytes"], 512 * kMiB);
}

TEST_P(GuardRouteTest, AMipmappedArrayIsChargedWithAllItsLevels) {
  const Output said = calls("512M", GetParam().name,
                            "retain 0\n"
                            "mipmap a 4096 4096 13\n"  // A third above 256 MiB: 342.
                            "array b 4096 1728\n"      // 108 MiB: 2 too many.
                            "array b 4096 1696\n"
                            "unmipmap a\n"
                            "mipmap a 4096 4096 1\n"
                            "reset 0\nretain 0\ninfo\n");
  const std::string empty = "0 " + std::to_string(448 * kMiB) + " " + std::to_string(512 * kMiB);
  EXPECT_THAT(lines_of(said.out),
              ::testing::ElementsAre("0", "0", "2", "0", "0", "0", "0", "0", empty));
  EXPECT_EQ(driver()["used_max_bytes"], 512 * kMiB);
}

TEST_P(GuardRouteTest, AnArrayWhoseMemoryTheProgramBringsIsNotChargedTwice) {
  const Output said = calls("512M", GetParam().name,
                            "retain 0\narray3 a 4096 8192 0 128\narray3 b 4096 8192 0 64\ninfo\n");
  EXPECT_THAT(lines_of(said.out),
              ::testing::ElementsAre("0", "0", "0", HasSubstr(std::to_string(448 * kMiB))));
}

TEST_P(GuardRouteTest, APoolIsChargedWithWhatItReserves) {
  if (GetParam().cuda.number < kWithPools) {
    EXPECT_THAT(lines_of(calls("512M", GetParam().name, "retain 0\nasync a 1000\n").out),
                ::testing::ElementsAre("0", "-1"));
    return;
  }
  const std::string chunk = std::to_string(32 * kMiB);
  const Output said = calls("512M", GetParam().name,  // 448 MiB for the program: 14 chunks.
                            "retain 0\nasync a 1000\nasync b 1000\ninfo\n"
                            "async c " +
                                std::to_string(416 * kMiB) +
                                "\n"  // All the others.
                                "async d " +
                                chunk +
                                "\n"  // One too many.
                                "free_async c\nalloc e " +
                                chunk +
                                "\n"  // The pool gave it back.
                                "free_async a\nfree b\nsynchronise\ninfo\n");
  const std::uint64_t one = (64 + 32) * kMiB;
  EXPECT_THAT(lines_of(said.out),
              ::testing::ElementsAre(
                  "0", "0", "0", "0 " + std::to_string(512 * kMiB - one) + " 536870912", "0", "2",
                  "0", "0", "0", "0", "0", "0 " + std::to_string(416 * kMiB) + " 536870912"));
  EXPECT_EQ(driver()["used_max_bytes"], 512 * kMiB);
}

INSTANTIATE_TEST_SUITE_P(Routes, GuardRouteTest, ::testing::ValuesIn(all_routes()),
                         [](const auto& route) { return name_of(route.param); });
INSTANTIATE_TEST_SUITE_P(Cudas, GuardCudaTest, ::testing::ValuesIn(kCudas),
                         [](const auto& cuda) { return name_of(cuda.param); });

TEST_F(GuardTest, ACardBelowItsContextIsRefusedAtTheContext) {
  EXPECT_THAT(lines_of(calls("32M", "dlsym", "retain 0\ncreate a\n").out),
              ::testing::ElementsAre("2", "2"));
  EXPECT_EQ(driver()["used_max_bytes"], 0);
}

// By its name alone: what an older driver has under it is another function.
TEST_P(GuardCudaTest, WhatCameWithALaterCudaIsNotThere) {
  const int cuda = GetParam().number;
  const auto has = [&](int since) { return cuda >= since ? "yes" : "no"; };
  EXPECT_THAT(lines_of(calls("1G", "dlsym",
                             "has cuMemAlloc_v2\nhas cuMemAllocAsync\nhas cuGetProcAddress\n"
                             "has cuCtxCreate_v3\nhas cuGetProcAddress_v2\nhas cuCtxCreate_v4\n"
                             "has cuCtxSynchronize_v2\n")
                           .out),
              ::testing::ElementsAre("yes", has(11020), has(11030), has(11040), has(12000),
                                     has(12050), has(13000)));
}

TEST_F(GuardTest, WhatTheDriverDoesNotKnowIsNotInventedForIt) {
  EXPECT_THAT(lines_of(calls("1G", "dlsym", "has cuMemAlloc_v2\nhas cuMemAlloc_v9\n").out),
              ::testing::ElementsAre("yes", "no"));
}

TEST_F(GuardTest, AnErrorOfTheDriverStaysItsOwn) {
  // Without a context; freed twice; nothing to allocate.
  EXPECT_THAT(lines_of(calls("1G", "dlsym",
                             "alloc a 100\nretain 0\nalloc a 100\nfree a\nfree a\nalloc b 0\n"
                             "free_null\n")
                           .out),
              ::testing::ElementsAre("201", "0", "0", "0", "1", "1", "0"));
}

TEST_F(GuardTest, SmallAllocationsCountByThePagesThatTheyShare) {
  std::string text = "retain 0\n";
  for (int i = 0; i < 2'000; ++i) text += "alloc s" + std::to_string(i) + " 4096\n";
  text += "info\n";
  for (int i = 0; i < 2'000; ++i) text += "free s" + std::to_string(i) + "\n";
  text += "info\n";
  const std::vector<std::string> said = lines_of(calls("1G", "dlsym", text).out);
  ASSERT_EQ(said.size(), 4'003U);
  const std::uint64_t left = (1024 - 64 - 8) * kMiB;  // 2 000 of 4 KiB are in four pages of 2 MiB.
  EXPECT_EQ(said[2'001], "0 " + std::to_string(left) + " 1073741824");
  EXPECT_EQ(said.back(), "0 " + std::to_string((1024 - 64) * kMiB) + " 1073741824");
}

TEST_F(GuardTest, PhysicalMemoryIsChargedUntilItsLastHandleAndMappingAreGone) {
  const std::string size = " 400000000\n";  // No whole pages: refused by the driver, not charged.
  const std::string most = " 419430400\n";  // 400 MiB of 448.
  const Output said =
      calls("512M", "dlsym",
            "retain 0\n"
            "m_create odd" +
                size + "m_create one" + most + "m_create two" + most +  // Refused: 2.
                "m_reserve space 1073741824\n"
                "m_map space 0 419430400 one\n"
                "m_release one\n"
                "alloc a 104857600\n"  // It is mapped still: 2.
                "m_retain one space 2097152\n"
                "m_unmap space 0 419430400\n"
                "alloc a 104857600\n"  // It has a handle still: 2.
                "m_release one\n"
                "alloc a 469762048\n"  // All is there again.
                "m_release one\n");    // There is no such handle: 1.
  EXPECT_THAT(lines_of(said.out), ::testing::ElementsAre("0", "1", "0", "2", "0", "0", "0", "2",
                                                         "0", "0", "2", "0", "0", "1"));
}

// After each call, what the program is told to be used, which is what the guard believes, is held
// against what the simulated driver counts for the process.
TEST_P(GuardCudaTest, WhatIsChargedIsWhatTheDriverCountsAfterEachCall) {
  constexpr std::uint64_t kBudget = 1024 * kMiB;
  const auto first = static_cast<std::uint64_t>(GetParam().number);
  for (std::uint64_t seed = first; seed < first + 3; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<std::string> made = {"retain 0", "m_reserve space 1073741824"};
    while (made.size() < 1'000) made.push_back(random_call(random));
    std::string text;
    for (const std::string& line : made) text += line + "\ninfo\ncounted\n";
    const std::vector<std::string> said = lines_of(calls("1G", "dlsym", text).out);
    ASSERT_EQ(said.size(), made.size() * 3);
    int refused = 0;
    for (std::size_t i = 0; i < made.size(); ++i) {
      std::uint64_t left = 0;
      std::uint64_t counted = 0;
      ASSERT_EQ(std::sscanf(said[3 * i + 1].c_str(), "0 %lu", &left), 1);
      ASSERT_EQ(std::sscanf(said[3 * i + 2].c_str(), "0 %lu", &counted), 1);
      ASSERT_EQ(kBudget - left, counted)
          << "seed " << seed << ", after call " << i << ": " << made[i] << " = " << said[3 * i];
      if (said[3 * i] == "2") ++refused;
    }
    EXPECT_GT(refused, 10) << seed;  // It came to the budget.
  }
}

TEST_F(GuardTest, NoRaceOfProcessesAndThreadsExceedsTheBudget) {
  // Five processes of four threads each fight for the same 600 MiB.
  const std::string one =
      "printf 'retain 0\\nrace 4 8 5242880\\nrelease 0\\n' | " + kCaller + " dlsym";
  const Output said =
      world_.run(lease("600M", {"sh", "-c", "for i in 1 2 3 4 5; do (" + one + ") & done; wait"}));
  // One that finds no room for its context is refused there, and goes on to its end.
  EXPECT_EQ(lines_of(said.out).size(), 15U) << said.err;
  EXPECT_THAT(said.err, IsEmpty());
  const json device = driver();
  EXPECT_LE(device["used_max_bytes"], 600 * kMiB);
  EXPECT_GT(device["used_max_bytes"], 570 * kMiB);  // It was a race for the last of it.
  EXPECT_EQ(device["used_bytes"], 0);
}

TEST_F(GuardTest, NoRaceForPoolsExceedsTheBudget) {
  const std::string one =
      "printf 'retain 0\\nrace_async 4 8 5242880\\nrelease 0\\n' | " + kCaller + " dlsym";
  const Output said =
      world_.run(lease("700M", {"sh", "-c", "for i in 1 2 3; do (" + one + ") & done; wait"}));
  EXPECT_EQ(lines_of(said.out).size(), 9U) << said.err;
  const json device = driver();
  EXPECT_LE(device["used_max_bytes"], 700 * kMiB);
  EXPECT_GT(device["used_max_bytes"], 600 * kMiB);
  EXPECT_EQ(device["used_bytes"], 0);
}

TEST_F(GuardTest, WhatAKilledProcessHadIsThereForTheNextOne) {
  const Output said =
      world_.run(lease("512M", {"sh", "-c",
                                "mkfifo p; " + kCaller +
                                    " dlsym <p >o & exec 9>p; "
                                    "printf 'retain 0\\nalloc a 400000000\\n' >&9; "
                                    "until [ \"$(wc -l <o)\" = 2 ]; do :; done; cat o; "
                                    "printf 'retain 0\\nalloc b 400000000\\n' | " +
                                    kCaller +
                                    " dlsym; "
                                    "kill -9 $!; wait $!; "
                                    "printf 'retain 0\\nalloc c 400000000\\n' | " +
                                    kCaller + " dlsym"}));
  EXPECT_THAT(lines_of(said.out), ::testing::ElementsAre("0", "0", "0", "2", "0", "0")) << said.err;
}

// Eight that allocate and free without end are killed at whatever they are doing, 200 times.
TEST_F(GuardTest, AProcessKilledAnywhereLeavesNothing) {
  const std::string endless =
      "printf 'retain 0\\nrace 2 1000000 3145728\\n' | " + kCaller + " dlsym";
  Program running =
      world_.start(lease("700M", {"sh", "-c",
                                  "cd " + world_.home().string() +
                                      "; for i in 1 2 3 4 5 6 7 8; do"
                                      " while ! test -e stop; do " +
                                      endless +
                                      "; done >/dev/null 2>&1 & done; wait; touch ended;"
                                      "printf 'retain 0\\ninfo\\n' | " +
                                      kCaller + " dlsym; echo over"}));
  std::mt19937 random(1);
  for (int killed = 0; killed < 200;) {
    std::vector<pid_t> found = callers();
    std::shuffle(found.begin(), found.end(), random);
    found.resize(std::min<std::size_t>(found.size(), 4));
    for (const pid_t pid : found) killed += ::kill(pid, SIGKILL) == 0 ? 1 : 0;
  }
  std::ofstream(world_.home() / "stop") << "";
  kill_what_is_left(running);
  ASSERT_TRUE(running.says("over")) << running.err();
  EXPECT_EQ(running.out(), "0\n0 " + std::to_string((700 - 64) * kMiB) + " 734003200\nover\n");
  EXPECT_EQ(driver()["used_bytes"], 0);
}

TEST_F(GuardTest, AProgramThatReplacesItselfBeginsAnew) {
  const Output said =
      world_.run(lease("512M", {"sh", "-c",
                                "printf 'retain 0\\nalloc a 400000000\\nbecome\\n' >calls;"
                                "printf 'retain 0\\nalloc a 400000000\\n' >more;" +
                                    kCaller + " dlsym <calls"}));
  EXPECT_THAT(lines_of(said.out), ::testing::ElementsAre("0", "0", "0", "0")) << said.err;
}

TEST_F(GuardTest, AChildOfForkIsNotTakenForItsParent) {
  // The child ends with what CUDA tells it: it is not initialised. The parent's charge stays.
  const Output said = calls("512M", "dlsym", "retain 0\nalloc a 400000000\nfork\n");
  EXPECT_THAT(said.out, HasSubstr("0\n0\n"));
  EXPECT_EQ(driver()["used_bytes"], 0);
}

}  // namespace
}  // namespace berth::e2e
