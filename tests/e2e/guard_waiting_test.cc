// SPDX-License-Identifier: Apache-2.0
// Programs that know nothing of Berth and wait for room in their budget (`--on-full wait`): what
// lets them go on, what ends the wait, and where nobody is made to wait. Where a wait of ten
// minutes is allowed, a program that waited in vain would never be done with its test.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "guard.h"

namespace berth::e2e {
namespace {

using std::chrono::steady_clock;
using ::testing::ElementsAre;

class GuardWaitingTest : public GuardTest {
 protected:
  // 512 MiB: 64 for each context.
  Program start(const std::string& on_full = "wait=10m") const {
    return world_.start({"berth", "run", "-q", "-m", "512M", "--on-full", on_full, "--",
                         caller_by("dlsym"), "dlsym"});
  }
  json shown() const { return json::parse(world_.run({"berth", "show", "1", "--json"}).out); }
  bool is_full() const {
    const json flags = shown()["flags"];
    return std::ranges::find(flags, json("full")) != flags.end();
  }
  template <class Condition>
  static void until(Condition condition) {
    const auto patience = steady_clock::now() + 3 * kPatience;
    while (!condition()) ASSERT_LT(steady_clock::now(), patience);
  }
  // The daemon tells that something waits.
  void until_full() const {
    until([this] { return is_full(); });
  }
  void give_more() const {
    const Output resized = world_.run({"berth", "resize", "1", "-m", "1G"});
    EXPECT_EQ(resized.status, 0) << resized.err;
  }
  // Makes calls, each of which is answered.
  static void make(Program& program, const std::string& text) {
    program.type(text);
    for (const std::string& line : lines_of(text)) ASSERT_TRUE(program.says_next("\n")) << line;
  }
  static std::vector<std::string> answers_of(Program& program) {
    program.close_input();
    EXPECT_EQ(program.wait(), 0);
    return lines_of(program.out());
  }
};

TEST_F(GuardWaitingTest, AnotherThreadFrees) {
  Program program = start();
  make(program, "retain 0\nalloc a 419430400\nlater b 209715200\n");
  until_full();
  EXPECT_EQ(shown()["devices"][0]["vram_wanted_bytes"], 200 * kMiB);
  make(program, "free a\njoined\n");
  EXPECT_THAT(answers_of(program), ElementsAre("0", "0", "0", "0", "0"));
  EXPECT_EQ(driver()["used_max_bytes"], (64 + 400) * kMiB);
}

TEST_F(GuardWaitingTest, AnotherProcessFrees) {
  Program program = start();
  make(program, "retain 0\nchild\ntell retain 0\ntell alloc x 262144000\nlater b 209715200\n");
  until_full();
  make(program, "tell free x\njoined\n");
  EXPECT_THAT(answers_of(program), ElementsAre("0", "0", "0", "0", "0", "0", "0"));
}

TEST_F(GuardWaitingTest, AnotherProcessIsKilled) {
  Program program = start();
  make(program, "retain 0\nchild\ntell retain 0\ntell alloc x 262144000\nlater b 209715200\n");
  until_full();
  make(program, "kill_child\njoined\n");
  EXPECT_THAT(answers_of(program), ElementsAre("0", "0", "0", "0", "0", "0", "0"));
}

// What a pool keeps for later is looked for again and again.
TEST_F(GuardWaitingTest, APoolComesToHoldWhatNobodyUses) {
  Program program = start();
  make(program, "retain 0\nthreshold 1073741824\nasync a 419430400\nlater b 209715200\n");
  until_full();
  make(program, "free_async a\njoined\n");
  EXPECT_THAT(answers_of(program), ElementsAre("0", "0", "0", "0", "0", "0"));
}

TEST_F(GuardWaitingTest, ItEndsWithItsTime) {
  Program program = start("wait=300ms");
  make(program, "retain 0\nalloc a 419430400\n");
  const auto began = steady_clock::now();
  make(program, "alloc b 209715200\n");
  EXPECT_GE(steady_clock::now() - began, std::chrono::milliseconds(300));
  EXPECT_THAT(answers_of(program), ElementsAre("0", "0", "2"));
  until([this] { return shown()["devices"][0]["refused_allocations"] == 1; });
}

TEST_F(GuardWaitingTest, MoreThanTheBudgetIsRefusedAtOnce) {
  Program program = start();
  // 448 MiB beside the context.
  make(program, "retain 0\nalloc a 471859200\nalloc a 469762048\n");
  EXPECT_THAT(answers_of(program), ElementsAre("0", "2", "0"));
}

TEST_F(GuardWaitingTest, NobodyWaitsInACapture) {
  Program program = start();
  make(program,
       "retain 0\nalloc a 419430400\ncuStreamCreate &s 1\n"
       "cuStreamBeginCapture_v2 s 2\n"  // Relaxed: allocations are allowed.
       "alloc b 209715200\ncuMemAllocAsync &p 209715200 0\n"
       "cuStreamEndCapture s &g\n");
  // Afterwards it waits.
  program.type("alloc b 209715200\n");
  until_full();
  give_more();
  ASSERT_TRUE(program.says_next("\n"));
  EXPECT_THAT(answers_of(program), ElementsAre("0", "0", "0", "0", "2", "2", "0", "0"));
}

TEST_F(GuardWaitingTest, NobodyWaitsInACallbackOfTheDrivers) {
  Program program = start();
  make(program, "retain 0\nalloc a 419430400\ncalled b 209715200\ncalled_back b 209715200\n");
  program.type("alloc b 209715200\n");
  until_full();
  give_more();
  ASSERT_TRUE(program.says_next("\n"));
  EXPECT_THAT(answers_of(program), ElementsAre("0", "0", "2", "2", "0"));
}

TEST_F(GuardWaitingTest, CallbacksDoWhatTheyWouldWithout) {
  Program program = start();
  make(program, "retain 0\ncalled a 104857600\ncalled_back b 104857600\nfree a\nfree b\n");
  EXPECT_THAT(answers_of(program), ElementsAre("0", "0", "0", "0", "0"));
}

// Each wants more than the other leaves: who began last is refused when half of its time is over,
// and the first gets what that one frees.
TEST_F(GuardWaitingTest, OfTwoThatWaitForEachOtherOneGivesWay) {
  Program program = start();
  make(program,
       "retain 0\nset BERTH_ON_FULL wait=12000ms\nchild\ntell retain 0\n"
       "alloc a 157286400\ntell alloc x 157286400\nlater b 157286400\n");
  until_full();
  const auto began = steady_clock::now();
  make(program, "tell alloc y 157286400\n");
  const auto took = steady_clock::now() - began;
  EXPECT_GE(took, std::chrono::seconds(6));
  EXPECT_LT(took, std::chrono::seconds(12));
  make(program, "tell free x\njoined\n");
  EXPECT_THAT(answers_of(program), ElementsAre("0", "0", "0", "0", "0", "0", "0", "2", "0", "0"));
}

/// Calls of which the last needs memory.
struct Family {
  std::string name;
  std::string calls;
};
inline std::ostream& operator<<(std::ostream& out, const Family& family) {
  return out << family.name;
}
const Family kFamilies[] = {
    {"memory", "alloc b 104857600\n"},
    {"managed", "managed b 104857600\n"},
    {"pitch", "pitch b 1048576 100\n"},
    {"physical", "m_create b 104857600\n"},
    {"array", "array b 4096 1600\n"},
    {"mipmap", "mipmap b 4096 1600 1\n"},
    {"async", "async b 104857600\n"},
    {"pool",
     "ints pinned 1 1 1 0\ncuMemPoolCreate &pool pinned\n"
     "cuMemAllocFromPoolAsync &b 1000 pool 0\n"},
    {"graph",
     "cuGraphCreate &g 0\ng_alloc g p 104857600\n"
     "cuGraphInstantiateWithFlags &e g 0\ncuGraphLaunch e 0\n"},
    {"context", "child\ntell retain 0\n"},
};

class GuardWaitingFamilyTest : public GuardWaitingTest,
                               public ::testing::WithParamInterface<Family> {};

TEST_P(GuardWaitingFamilyTest, WaitsUntilTheLeaseIsResized) {
  Program program = start();
  make(program, "retain 0\nalloc a 469762048\n");  // All that is not context.
  program.type(GetParam().calls);
  until_full();
  give_more();
  const std::size_t calls = lines_of(GetParam().calls).size();
  for (std::size_t i = 0; i < calls; ++i) ASSERT_TRUE(program.says_next("\n"));
  until([this] { return !is_full(); });
  EXPECT_EQ(answers_of(program), std::vector<std::string>(calls + 2, "0"));
}

INSTANTIATE_TEST_SUITE_P(Families, GuardWaitingFamilyTest, ::testing::ValuesIn(kFamilies),
                         [](const auto& family) { return family.param.name; });

}  // namespace
}  // namespace berth::e2e
