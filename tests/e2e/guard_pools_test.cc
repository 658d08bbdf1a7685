// SPDX-License-Identifier: Apache-2.0
// Pools of stream-ordered memory in a lease: as many as a program likes, of whichever device, and
// those that it destroys while it uses their memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "guard.h"

namespace berth::e2e {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string mib(std::uint64_t count) {
  return std::to_string(count * kMiB);
}
std::string from(const std::string& pool, const std::string& pointer, std::uint64_t count) {
  return "cuMemAllocFromPoolAsync &" + pointer + " " + mib(count) + " " + pool + " 0\n";
}

/// What the program is told to be free, of a budget.
std::string info(std::uint64_t free, std::uint64_t budget) {
  return "0 " + mib(free) + " " + mib(budget);
}

class GuardPoolsTest : public GuardTest {
 protected:
  GuardPoolsTest() : GuardTest("12.9", "2x16GiB") {}
};

TEST_F(GuardPoolsTest, AsManyAsAProgramMakesAreHeldToTheBudget) {
  constexpr int kPools = 600;
  std::string text = "retain 0\n";
  for (int i = 0; i < kPools; ++i) text += "p_create p" + std::to_string(i) + "\n";
  // 960 MiB for the program: 30 chunks of 32 MiB, which the last pools take.
  for (int i = kPools - 31; i < kPools; ++i) {
    const std::string number = std::to_string(i);
    text += from("p" + number, "a" + number, 32);
  }
  text += "info\n";
  for (int i = 0; i < kPools; ++i) text += "cuMemPoolDestroy p" + std::to_string(i) + "\n";
  const std::vector<std::string> said = lines_of(calls("1G", "dlsym", text).out);
  ASSERT_EQ(said.size(), 2 * kPools + 33U);
  EXPECT_EQ(said[kPools + 30], "0");
  EXPECT_EQ(said[kPools + 31], "2") << "the budget was full";
  EXPECT_EQ(said[kPools + 32], info(0, 1024));
  EXPECT_EQ(driver()["used_max_bytes"], 1024 * kMiB);
}

TEST_F(GuardPoolsTest, ThePoolOfAnotherDeviceIsChargedThere) {
  const std::string text =
      "retain 0\n"
      "cuDeviceGetDefaultMemPool &p 1\n" +
      from("p", "a", 900) + from("p", "b", 200) + "info\n" + "alloc c " + mib(900) + "\n";
  const Output said = world_.run(
      {"berth", "run", "-q", "-g", "2", "-m", "1G", "--", caller_by("dlsym"), "dlsym"}, text);
  // There is no context on the other one, so that all of its budget is there for the pool.
  EXPECT_THAT(lines_of(said.out), ElementsAre("0", "0", "0", "2", info(960, 1024), "0"))
      << said.err;
}

TEST_F(GuardPoolsTest, MemoryInAStreamOfAnotherDeviceIsChargedThere) {
  const auto in_stream = [](const std::string& name, std::uint64_t size) {
    return "cuMemAllocAsync &" + name + " " + mib(size) + " s\n";
  };
  const std::string text = "retain 0\ncuStreamCreate &s 0\nretain 1\n" + in_stream("a", 900) +
                           in_stream("b", 200) + "alloc c " + mib(900) + "\nfree_async a\n" +
                           in_stream("d", 900) + "cuMemAllocAsync &e " + mib(100) + " 0\n";
  const Output said = world_.run(
      {"berth", "run", "-q", "-g", "2", "-m", "1G", "--", caller_by("dlsym"), "dlsym"}, text);
  EXPECT_THAT(lines_of(said.out), ElementsAre("0", "0", "0", "0", "2", "0", "0", "0", "2"))
      << said.err;
}

TEST_F(GuardPoolsTest, APoolThatIsPutInTheDefaultOnesPlaceIsCharged) {
  const std::string text =
      "retain 0\np_create p\ncuDeviceSetMemPool 0 p\n"
      "async a " +
      mib(900) + "\nasync b " + mib(100) + "\n" +
      // The program has the default one again when it destroys the other.
      "free_async a\ncuMemPoolDestroy p\ncuDeviceGetMemPool &now 0\ncuDeviceGetDefaultMemPool &own "
      "0\n"
      "value now\nvalue own\nasync b " +
      mib(900) + "\ninfo\n";
  const std::vector<std::string> said = lines_of(calls("1G", "dlsym", text).out);
  ASSERT_EQ(said.size(), 13U);
  EXPECT_EQ(said[3], "0");
  EXPECT_EQ(said[4], "2");
  EXPECT_EQ(said[9], said[10]);
  EXPECT_EQ(said[11], "0");
  EXPECT_EQ(said[12], info(1024 - 64 - 928, 1024));
}

// As bare: 40 of 40.
TEST_F(GuardPoolsTest, MemoryOfADestroyedPoolIsThereAgainWhenItIsFreed) {
  std::string text = "retain 0\n";
  for (int i = 0; i < 40; ++i) {
    text += "p_create p\n" + from("p", "a", 256) + from("p", "b", 256) +
            "cuMemPoolDestroy p\nfree_async a\nfree b\nsynchronise\n";
  }
  const Output said = calls("1G", "dlsym", text + "info\ncounted\n");
  std::vector<std::string> lines = lines_of(said.out);
  ASSERT_EQ(lines.size(), 283U);
  EXPECT_EQ(lines[282], "0 " + mib(64));
  EXPECT_EQ(lines[281], info(960, 1024));
  lines.resize(281);
  EXPECT_THAT(lines, Each("0"));
}

TEST_F(GuardPoolsTest, MemoryOfADestroyedPoolStaysChargedAsLongAsItIsUsed) {
  const Output said = calls("1G", "dlsym",
                            "retain 0\np_create p\n" + from("p", "a", 512) + from("p", "b", 256) +
                                "cuMemPoolDestroy p\ninfo\n"
                                "alloc c " +
                                mib(256) +
                                "\n"
                                "free_async b\nsynchronise\ninfo\n"
                                "alloc c " +
                                mib(256) +
                                "\n"
                                // It is not there any more, to the program.
                                "cuMemPoolDestroy p\n" +
                                from("p", "d", 32));
  EXPECT_THAT(lines_of(said.out), ElementsAre("0", "0", "0", "0", "0", info(192, 1024), "2", "0",
                                              "0", info(448, 1024), "0", "1", "1"));
}

TEST_F(GuardPoolsTest, ADefaultPoolIsNotDestroyed) {
  const Output said = calls("1G", "dlsym",
                            "retain 0\ncuDeviceGetDefaultMemPool &p 0\nasync a " + mib(32) +
                                "\ncuMemPoolDestroy p\nasync b " + mib(32) + "\ninfo\n");
  EXPECT_THAT(lines_of(said.out), ElementsAre("0", "0", "0", "1", "0", info(896, 1024)));
  EXPECT_THAT(said.err, IsEmpty());
}

// Refused for want of room, or by the driver, which does not have it: nothing of that stays.
TEST_F(GuardPoolsTest, APoolThatIsNotThereIsForgotten) {
  const Output said =
      calls("1G", "dlsym",
            "retain 0\np_create p\ncuMemPoolDestroy p\n" + from("p", "a", 32) + "alloc full " +
                mib(958) + "\n" + from("p", "a", 32) + "free full\np_create q\n" +
                from("q", "a", 32) + "cuMemPoolDestroy q\ninfo\nfree_async a\nsynchronise\ninfo\n");
  EXPECT_THAT(lines_of(said.out), ElementsAre("0", "0", "0", "1", "0", "2", "0", "0", "0", "0",
                                              info(928, 1024), "0", "0", info(960, 1024)));
}

// Nobody pays for pools that others do not use: of many, a synchronisation asks a few, and what the
// program is told counts all.
TEST_F(GuardPoolsTest, WhatManyPoolsGiveBackIsSeenAtOnce) {
  std::string text = "retain 0\n";
  for (int i = 0; i < 25; ++i) {
    const std::string number = std::to_string(i);
    text += "p_create p" + number + "\n" + from("p" + number, "a" + number, 32);
  }
  text += "info\n";
  for (int i = 0; i < 25; ++i) text += "free_async a" + std::to_string(i) + "\n";
  const std::vector<std::string> said =
      lines_of(calls("1G", "dlsym", text + "info\nsynchronise\ninfo\ncounted\n").out);
  ASSERT_EQ(said.size(), 81U);
  EXPECT_EQ(said[51], info(160, 1024));
  EXPECT_EQ(said[77], info(160, 1024));
  EXPECT_EQ(said[79], info(960, 1024));
  EXPECT_EQ(said[80], "0 " + mib(64));
}

}  // namespace
}  // namespace berth::e2e
