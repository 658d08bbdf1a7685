// SPDX-License-Identifier: Apache-2.0
// Programs that call the functions of CUDA 2, whose addresses and sizes have 32 bits, held to the
// budget of their lease by each way by which a program comes to the driver.
#include <gmock/gmock.h>

#include "guard.h"

namespace berth::e2e {
namespace {

class GuardOldTest : public GuardRouteTest {};

TEST_P(GuardOldTest, TheFunctionsOfCuda2AreHeldToTheBudgetToo) {
  const Output said = calls("512M", GetParam().name,
                            "retain 0\n"
                            "cuMemAlloc_v1 &a 209715200\n"  // 200 MiB
                            "cuMemAlloc_v1 &b 262144000\n"  // 250 MiB: 2 too many
                            "cuMemAlloc_v1 &b 260046848\n"  // 248 MiB
                            "cuMemAlloc_v1 &c 1\nalloc c 1\n"
                            "cuMemFree_v1 a\ncuMemFree_v1 a\n"
                            "cuMemAllocPitch_v1 &a &pitch 1048575 200 4\nalloc c 1\n"
                            "cuMemFree_v1 a\n"
                            "ints flat 4096 3200 32 4\n"  // 200 MiB
                            "cuArrayCreate_v1 &d flat\ncuArrayCreate_v1 &e flat\n"
                            "cuArrayDestroy d\n"
                            "ints deep 64 32 6401 32 4 0\ncuArray3DCreate_v1 &d deep\n"
                            "ints less 64 32 6400 32 4 0\ncuArray3DCreate_v1 &d less\n"
                            "reset 0\nretain 0\nalloc c 469762048\n");
  EXPECT_THAT(lines_of(said.out),
              ::testing::ElementsAre("0", "0", "2", "0", "2", "2", "0", "1", "0", "2", "0", "0",
                                     "0", "2", "0", "0", "2", "0", "0", "0", "0", "0"));
  EXPECT_THAT(said.err, ::testing::IsEmpty());
  EXPECT_EQ(driver()["used_max_bytes"], 512 * kMiB);
}

TEST_P(GuardOldTest, TheySeeACardOfTheBudgetsSize) {
  const Output said = calls("512M", GetParam().name,
                            "retain 0\ncuMemAlloc_v1 &a 1000\ncuMemGetInfo_v1 &free &total\n"
                            "value free\nvalue total\ncuDeviceTotalMem_v1 &all 0\nvalue all\n");
  EXPECT_THAT(lines_of(said.out),
              ::testing::ElementsAre("0", "0", "0", std::to_string(446 * kMiB),
                                     std::to_string(512 * kMiB), "0", std::to_string(512 * kMiB)));
}

INSTANTIATE_TEST_SUITE_P(Routes, GuardOldTest, ::testing::ValuesIn(all_routes()),
                         [](const auto& route) { return name_of(route.param); });

}  // namespace
}  // namespace berth::e2e
