// SPDX-License-Identifier: Apache-2.0
#include "simgpu/world/world.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include "os/processes.h"
#include "simgpu/testing.h"
#include "simgpu/world/device_text.h"

namespace berth::simgpu {
namespace {

constexpr std::uint64_t kBlocksPerGiB = 512;

TEST(World, TwentyProcessesAtOnceMakeOneWorld) {
  const TemporaryWorld temporary("1x16GiB");
  std::deque<Child> children;
  for (int i = 0; i < 20; ++i) {
    children.emplace_back([&](Child& self) {
      self.wait_for_parent();
      World world = temporary.open();
      const std::optional<std::uint32_t> slot = world.claim_slot();
      require(slot && world.charge(*slot, 0, 1), "charge one block");
      self.tell_parent();
      self.wait_for_parent();
    });
  }
  for (Child& child : children) child.tell_child();
  for (Child& child : children) ASSERT_TRUE(child.wait_for_child());
  World world = temporary.open();
  EXPECT_EQ(world.figures(0).used, Bytes{20 * kBlockBytes});
  EXPECT_EQ(world.processes(0).size(), 20U);
  for (Child& child : children) {
    child.tell_child();
    EXPECT_EQ(child.wait(), 0);
  }
  EXPECT_EQ(world.figures(0).used, Bytes{});
}

TEST(World, NoTwoWorldsShareADevice) {
  std::set<std::string> uuids;
  for (int i = 0; i < 8; ++i) {
    const TemporaryWorld temporary("2x16GiB");
    const World world = temporary.open();
    uuids.insert(uuid_text(world.file().devices[0]));
    uuids.insert(uuid_text(world.file().devices[1]));
  }
  EXPECT_EQ(uuids.size(), 16U);
}

TEST(World, TheSameSpecFindsTheSameDevicesAgain) {
  const TemporaryWorld temporary("1x16GiB");
  EXPECT_EQ(uuid_text(temporary.open().file().devices[0]),
            uuid_text(temporary.open().file().devices[0]));
}

TEST(World, AnotherSpecUnderTheSameNameIsRefusedAndNamesBoth) {
  const TemporaryWorld temporary("1x16GiB");
  (void)temporary.open();
  ::setenv("BERTH_SIM", "1x8GiB", 1);
  const Result<World> world = World::open_from_environment();
  ASSERT_FALSE(world.ok());
  EXPECT_NE(world.error().message.find("1x16GiB"), std::string::npos);
  EXPECT_NE(world.error().message.find("1x8GiB"), std::string::npos);
}

TEST(World, AFileThatIsNoWorldIsRefusedAndKept) {
  const TemporaryWorld temporary("1x16GiB");
  const std::string path = temporary.directory() + "/gpu-world";
  std::ofstream(path) << "something else";
  const Result<World> world = World::open_from_environment();
  ASSERT_FALSE(world.ok());
  EXPECT_NE(world.error().message.find(path), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(path), 14U);
}

TEST(World, AWorldOfAnEarlierBootIsMadeAnew) {
  const TemporaryWorld temporary("1x16GiB");
  World world = temporary.open();
  const std::string before = uuid_text(world.file().devices[0]);
  world.file().boot_id[0] ^= 1;
  EXPECT_NE(uuid_text(temporary.open().file().devices[0]), before);
}

TEST(World, AnUnfinishedFileOfAKilledProcessIsNoObstacle) {
  const TemporaryWorld temporary("1x16GiB");
  std::ofstream(temporary.directory() + "/gpu-world.new") << "half";
  EXPECT_EQ(temporary.open().device_count(), 1U);
}

TEST(World, OfADirectoryThatWasNamedItIsSharedWithOtherUsers) {
  if (::geteuid() != 0) {
    std::cout << "SKIPPED: only root can be two users\n";
    GTEST_SKIP();
  }
  const TemporaryWorld temporary("1x16GiB");
  ASSERT_EQ(::chmod(temporary.directory().c_str(), 0755), 0);
  World world = temporary.open();
  EXPECT_EQ(0, in_child([&] {
              constexpr uid_t kNobody = 65534;
              require(::setuid(kNobody) == 0, "become another user");
              World theirs = temporary.open();
              require(theirs.charge(*theirs.claim_slot(), 0, 100), "charge");
            }));
  EXPECT_EQ(world.figures(0).used_max, Bytes{100 * kBlockBytes});
  EXPECT_EQ(world.figures(0).used, Bytes{});
}

TEST(World, OfTheRuntimeDirectoryItIsItsUsersAlone) {
  const TemporaryWorld temporary("1x16GiB");
  ::unsetenv("BERTH_SIM_DIR");
  ::setenv("BERTH_RUNTIME_DIR", (temporary.directory() + "/run").c_str(), 1);
  const Result<World> world = World::open_from_environment();
  ::unsetenv("BERTH_RUNTIME_DIR");
  ASSERT_TRUE(world.ok());
  EXPECT_EQ(world->path().find(temporary.directory() + "/run/sim/w"), 0U);
  struct stat found{};
  ASSERT_EQ(::stat(world->path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
}

TEST(World, RacingProcessesFillADeviceToTheBlockAndNeverAbove) {
  const TemporaryWorld temporary("1x64MiB");
  World world = temporary.open();
  std::deque<Child> children;
  for (int i = 0; i < 4; ++i) {
    children.emplace_back([&](Child& self) {
      World mine = temporary.open();
      const std::uint32_t slot = *mine.claim_slot();
      self.wait_for_parent();
      for (int round = 0; round < 100; ++round) {
        if (mine.charge(slot, 0, 7)) mine.release(slot, 0, 7);
      }
      while (mine.charge(slot, 0, 1)) {
      }
      self.tell_parent();
      self.wait_for_parent();
    });
  }
  for (Child& child : children) child.tell_child();
  for (Child& child : children) ASSERT_TRUE(child.wait_for_child());
  EXPECT_EQ(world.figures(0).used, mib(64));
  EXPECT_EQ(world.figures(0).used_max, mib(64));
  EXPECT_EQ(world.figures(0).free, Bytes{});
}

TEST(World, KilledAtRandomItsProcessesLeaveNothing) {
  const TemporaryWorld temporary("2x1GiB");
  World world = temporary.open();
  for (int round = 0; round < 8; ++round) {
    std::deque<Child> children;
    for (int i = 0; i < 2; ++i) {
      children.emplace_back([&](Child& self) {
        World mine = temporary.open();
        const std::uint32_t slot = *mine.claim_slot();
        self.tell_parent();
        for (std::uint32_t device = 0;; device ^= 1U) {
          if (mine.charge(slot, device, 100)) mine.release(slot, device, 100);
        }
      });
    }
    for (Child& child : children) ASSERT_TRUE(child.wait_for_child());
    for (int look = 0; look < 4 * round; ++look) {
      ASSERT_LE(world.figures(0).used, gib(1));
    }
    for (Child& child : children) child.kill();
    for (Child& child : children) (void)child.wait();
    ASSERT_EQ(world.figures(0).used, Bytes{});
    ASSERT_EQ(world.figures(1).used, Bytes{});
    ASSERT_TRUE(world.processes(0).empty());
  }
  EXPECT_LE(world.figures(0).used_max, gib(1));
}

TEST(World, AStoppedProcessHoldsNobodyUp) {
  const TemporaryWorld temporary("1x1GiB");
  World world = temporary.open();
  const std::uint32_t slot = *world.claim_slot();
  for (int round = 0; round < 15; ++round) {
    Child child([&](Child& self) {
      World mine = temporary.open();
      const std::uint32_t own = *mine.claim_slot();
      self.tell_parent();
      for (;;) {
        if (mine.charge(own, 0, 100)) mine.release(own, 0, 100);
      }
    });
    ASSERT_TRUE(child.wait_for_child());
    ::kill(child.pid(), SIGSTOP);
    ASSERT_TRUE(world.charge(slot, 0, kBlocksPerGiB - 100));
    world.release(slot, 0, kBlocksPerGiB - 100);
  }
}

TEST(World, MemoryOfTheDeadIsUsedAndListedUntilTheTeardownTimeHasPassed) {
  const TemporaryWorld temporary("1x1GiB");
  World world = temporary.open();
  world.file().faults.teardown_us = 3'600'000'000;
  Child child([&](Child& self) {
    World mine = temporary.open();
    require(mine.charge(*mine.claim_slot(), 0, 100), "charge");
    self.tell_parent();
    self.wait_for_parent();
  });
  ASSERT_TRUE(child.wait_for_child());
  const int pid = child.pid();
  child.kill();
  (void)child.wait();
  EXPECT_EQ(world.figures(0).used, Bytes{100 * kBlockBytes});
  ASSERT_EQ(world.processes(0).size(), 1U);
  EXPECT_EQ(world.processes(0)[0].pid, pid);
  EXPECT_TRUE(world.processes(0)[0].ended);
  const std::uint32_t slot = *world.claim_slot();
  EXPECT_FALSE(world.charge(slot, 0, kBlocksPerGiB));
  world.file().faults.teardown_us = 0;
  EXPECT_TRUE(world.charge(slot, 0, kBlocksPerGiB));
}

TEST(World, AProgramThatReplacesItselfKeepsNoMemory) {
  const TemporaryWorld temporary("1x1GiB");
  World world = temporary.open();
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  Child child([&](Child& self) {
    World mine = temporary.open();
    require(mine.charge(*mine.claim_slot(), 0, 100), "charge");
    self.tell_parent();
    self.wait_for_parent();
    require(::dup2(told[1], STDOUT_FILENO) >= 0, "write to the pipe");
    (void)::execlp("sh", "sh", "-c", "echo; exec sleep 60", nullptr);
  });
  ASSERT_TRUE(child.wait_for_child());
  EXPECT_EQ(world.figures(0).used, Bytes{100 * kBlockBytes});
  child.tell_child();
  char word = 0;
  ASSERT_EQ(::read(told[0], &word, 1), 1);
  EXPECT_EQ(world.figures(0).used, Bytes{});
  ::close(told[0]);
  ::close(told[1]);
}

// Charges 100 blocks as the first process of a PID namespace, and stays.
void be_in_a_namespace(const TemporaryWorld& temporary, Child& self) {
  require(become_first_of_a_pid_namespace(), "make a PID namespace");
  World mine = temporary.open();
  const std::uint32_t slot = *mine.claim_slot();
  require(mine.charge(slot, 0, 100), "charge");
  require(mine.pid_of(slot) == 1, "be number 1 for ourselves");
  self.tell_parent();
  self.wait_for_parent();
  mine.release(slot, 0, 100);
}

TEST(World, FirstProcessesOfManyNamespacesAreNotOneAnother) {
  if (::geteuid() != 0) {
    std::cout << "SKIPPED: only root can make namespaces here\n";
    GTEST_SKIP();
  }
  const TemporaryWorld temporary("1x1GiB");
  World world = temporary.open();
  std::deque<Child> children;
  for (int i = 0; i < 3; ++i) {
    children.emplace_back([&](Child& self) { be_in_a_namespace(temporary, self); });
  }
  for (Child& child : children) ASSERT_TRUE(child.wait_for_child());
  EXPECT_EQ(world.figures(0).used, Bytes{300 * kBlockBytes});
  std::set<std::int32_t> pids;
  for (const ProcessFigures& process : world.processes(0)) pids.insert(process.pid);
  EXPECT_EQ(pids.size(), 3U);
  for (const std::int32_t pid : pids) {
    const Result<os::ProcessState> state = os::process_state(pid);
    ASSERT_TRUE(state.ok());
    EXPECT_TRUE(std::ranges::count(children, state->parent_pid, &Child::pid) == 1);
  }
  EXPECT_EQ(0, in_child([&] {  // Who cannot see them is told what the outside saw.
              require(become_first_of_a_pid_namespace(), "make a PID namespace");
              for (const ProcessFigures& process : temporary.open().processes(0))
                require(pids.contains(process.pid), "be told their pids");
            }));
  for (Child& child : children) {
    child.tell_child();
    EXPECT_EQ(child.wait(), 0);
  }
  EXPECT_EQ(world.figures(0).used, Bytes{});
}

TEST(World, WithoutAProcItIsTheSameMachineForAll) {
  if (::geteuid() != 0) {
    std::cout << "SKIPPED: only root can take /proc away\n";
    GTEST_SKIP();
  }
  const TemporaryWorld temporary("1x1GiB");
  World world = temporary.open();
  const std::string uuid = uuid_text(world.file().devices[0]);
  Child child([&](Child& self) {
    require(become_first_of_a_pid_namespace(), "make namespaces");
    require(::mount("none", "/proc", "tmpfs", 0, nullptr) == 0, "hide /proc");
    World mine = temporary.open();
    require(uuid_text(mine.file().devices[0]) == uuid, "find the same devices");
    require(mine.charge(*mine.claim_slot(), 0, 100), "charge");
    self.tell_parent();
    self.wait_for_parent();
  });
  ASSERT_TRUE(child.wait_for_child());
  EXPECT_EQ(uuid_text(temporary.open().file().devices[0]), uuid);
  EXPECT_EQ(world.figures(0).used, Bytes{100 * kBlockBytes});
  child.tell_child();
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(world.figures(0).used, Bytes{});
}

TEST(World, EachChangeIsAnEventWithTheUseAfterIt) {
  const TemporaryWorld temporary("1x1GiB");
  World world = temporary.open();
  const std::uint32_t slot = *world.claim_slot();
  ASSERT_TRUE(world.charge(slot, 0, 100));
  world.release(slot, 0, 40);
  const auto& events = world.file().events;
  ASSERT_EQ(world.file().events_made.load(), 2U);
  EXPECT_EQ(events[0].change_blocks.load(), 100);
  EXPECT_EQ(events[0].used_blocks.load(), 100U);
  EXPECT_EQ(events[1].change_blocks.load(), -40);
  EXPECT_EQ(events[1].used_blocks.load(), 60U);
  EXPECT_EQ(events[1].pid.load(), ::getpid());
  EXPECT_LE(events[0].time_ns.load(), events[1].time_ns.load());
}

}  // namespace
}  // namespace berth::simgpu
