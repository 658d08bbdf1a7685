// SPDX-License-Identifier: Apache-2.0
// Memory that several processes have, and memory of other APIs: the process that made it is charged
// for it, and nobody else, by each way by which a program comes to the driver.
#include <gmock/gmock.h>

#include "guard.h"

namespace berth::e2e {
namespace {

using ::testing::ElementsAre;

class GuardSharedTest : public GuardRouteTest {
 protected:
  std::vector<std::string> said_to(const std::string& budget, const std::string& text) const {
    const Output said = calls(budget, GetParam().name, "retain 0\n" + text);
    EXPECT_EQ(said.err, "");
    std::vector<std::string> lines = lines_of(said.out);
    if (!lines.empty()) lines.erase(lines.begin());
    return lines;
  }
  static std::string left(std::uint64_t mib, std::uint64_t of_mib) {
    return "0 " + std::to_string(mib * kMiB) + " " + std::to_string(of_mib * kMiB);
  }
};

TEST_P(GuardSharedTest, ExportedMemoryIsChargedUntilNobodyHasItAnyMore) {
  const std::vector<std::string> said =
      said_to("512M",  // 448 MiB for the program.
              "m_share h 419430400\n"
              "cuMemExportToShareableHandle &fd h 1 0\n"
              "child fd\nm_release h\n"
              "alloc a 104857600\n"  // The descriptor is open here and there.
              "tell cuMemImportFromShareableHandle &h $fd 1\n"
              "tell close $fd\nclose fd\n"
              "alloc a 104857600\n"  // The child has it.
              "tell m_reserve space 419430400\ntell m_map space 0 419430400 h\n"
              "tell m_release h\n"
              "alloc a 104857600\n"  // And has mapped it.
              "tell m_unmap space 0 419430400\n"
              "info\nalloc a 469762048\n");
  EXPECT_THAT(said, ElementsAre("0", "0", "0", "0", "2", "0", "0", "0", "2", "0", "0", "0", "2",
                                "0", left(448, 512), "0"));
  EXPECT_EQ(driver()["used_max_bytes"], 512 * kMiB);
}

TEST_P(GuardSharedTest, WhatIsExportedAndClosedIsFreeWithItsLastHandle) {
  const std::vector<std::string> said =
      said_to("512M",
              "m_share h 419430400\ncuMemExportToShareableHandle &fd h 1 0\nclose fd\n"
              "m_release h\nalloc a 469762048\nfree a\n"
              "m_create h 2097152\ncuMemExportToShareableHandle &fd h 1 0\n"  // Not to be shared.
              "m_release h\ninfo\n");
  EXPECT_THAT(said, ElementsAre("0", "0", "0", "0", "0", "0", "0", "1", "0", left(448, 512)));
}

TEST_P(GuardSharedTest, MemoryIsImportedByItsOwnerToo) {
  const std::vector<std::string> said =
      said_to("512M",
              "m_share h 419430400\ncuMemExportToShareableHandle &fd h 1 0\n"
              "cuMemImportFromShareableHandle &g fd 1\nclose fd\nm_release h\n"
              "info\nm_release g\ninfo\n");
  EXPECT_THAT(said, ElementsAre("0", "0", "0", "0", "0", left(48, 512), "0", left(448, 512)));
}

TEST_P(GuardSharedTest, AKilledProcessHoldsNothing) {
  const std::vector<std::string> said = said_to(
      "512M",
      "m_share h 419430400\ncuMemExportToShareableHandle &fd h 1 0\nchild fd\n"
      "tell cuMemImportFromShareableHandle &h $fd 1\nclose fd\nm_release h\nalloc a 104857600\n"
      "tell die\nalloc a 104857600\n");
  EXPECT_THAT(said, ElementsAre("0", "0", "0", "0", "0", "0", "2", "", "0"));
}

TEST_P(GuardSharedTest, AnImporterIsNotCharged) {
  const std::vector<std::string> said =
      said_to("1G",  // 896 MiB beside two contexts.
              "m_share h 838860800\ncuMemExportToShareableHandle &fd h 1 0\nchild fd\n"
              "tell retain 0\ntell cuMemImportFromShareableHandle &h $fd 1\n"
              "tell m_reserve space 838860800\ntell m_map space 0 838860800 h\n"
              "tell info\ntell alloc a 102760448\ntell alloc a 100663296\n");
  EXPECT_THAT(said, ElementsAre("0", "0", "0", "0", "0", "0", "0", left(96, 1024), "2", "0"));
  EXPECT_EQ(driver()["used_max_bytes"], 1024 * kMiB);
}

TEST_P(GuardSharedTest, AProcessThatOpensAnAllocationIsNotCharged) {
  const std::vector<std::string> said =
      said_to("512M",  // 384 MiB beside two contexts.
              "alloc a 209715200\nints h\ncuIpcGetMemHandle h a\nipc_open p h\nchild\n"
              "tell retain 0\ntell ints h $h\ntell ipc_open p h\ntell info\n"
              "tell free p\ntell cuIpcCloseMemHandle p\ntell cuIpcCloseMemHandle p\n"
              "tell info\nfree a\ntell info\n");
  EXPECT_THAT(said, ElementsAre("0", "0", "0", "201", "0", "0", "0", "0", left(184, 512), "1", "0",
                                "1", left(184, 512), "0", left(384, 512)));
}

TEST_P(GuardSharedTest, MemoryOfAnotherApiIsNotCharged) {
  const std::vector<std::string> said =
      said_to("512M",
              "m_share h 104857600\ncuMemExportToShareableHandle &fd h 1 0\n"
              "ints what 1 0 fd 0 0 0 104857600 0\ncuImportExternalMemory &x what\n"
              "ints part 4096 0 1048576 0\ncuExternalMemoryGetMappedBuffer &p x part\n"
              "info\nfree p\nfree p\n"
              "ints levels 0 0 64 0 64 0 0 0 32 4 0 0 1\n"
              "cuExternalMemoryGetMappedMipmappedArray &m x levels\n"
              "cuMipmappedArrayDestroy m\n"
              "cuDestroyExternalMemory x\ncuDestroyExternalMemory x\nm_release h\ninfo\n");
  EXPECT_THAT(said, ElementsAre("0", "0", "0", "0", "0", "0", left(348, 512), "0", "1", "0", "0",
                                "0", "0", "400", "0", left(448, 512)));
}

class GuardSharedPoolTest : public GuardSharedTest {};

TEST_P(GuardSharedPoolTest, AProcessThatImportsAPoolIsNotCharged) {
  const std::vector<std::string> said =
      said_to("512M",
              "ints pinned 1 1 1 0\ncuMemPoolCreate &pool pinned\n"
              "cuMemAllocFromPoolAsync &a 1000 pool 0\n"
              "cuMemPoolExportToShareableHandle &fd pool 1 0\n"
              "ints data\ncuMemPoolExportPointer data a\nchild fd\n"
              "tell retain 0\ntell cuMemPoolImportFromShareableHandle &pool $fd 1 0\n"
              "tell ints data $data\ntell cuMemPoolImportPointer &a pool data\n"
              "tell cuMemAllocFromPoolAsync &b 1000 pool 0\n"  // Not from another's.
              "tell info\ntell free_async a\ntell cuMemPoolDestroy pool\ntell info\n");
  EXPECT_THAT(said, ElementsAre("0", "0", "0", "0", "0", "0", "0", "0", "0", "0", "0", "1",
                                left(352, 512), "0", "0", left(352, 512)));
}

INSTANTIATE_TEST_SUITE_P(Routes, GuardSharedTest, ::testing::ValuesIn(all_routes()),
                         [](const auto& route) { return name_of(route.param); });
INSTANTIATE_TEST_SUITE_P(Routes, GuardSharedPoolTest, ::testing::ValuesIn(all_routes(11020)),
                         [](const auto& route) { return name_of(route.param); });

}  // namespace
}  // namespace berth::e2e
