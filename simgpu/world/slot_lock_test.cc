// SPDX-License-Identifier: Apache-2.0
#include "simgpu/world/slot_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>

#include "simgpu/testing.h"

namespace berth::simgpu {
namespace {

class SlotLocking : public testing::Test {
 protected:
  SlotLocking() { std::ofstream(path_) << "a file"; }

  bool is_held(std::uint32_t slot) const {
    const os::UniqueFd file(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
    return SlotLocks(path_, file_behind(file.get())).is_held(slot);
  }

  const TemporaryWorld temporary_{"1x1GiB"};
  const std::string path_ = temporary_.directory() + "/file";
};

TEST_F(SlotLocking, OneProcessHasASlotUntilItEnds) {
  Child child([&](Child& self) {
    const auto lock = SlotLock::take(path_, 7);
    require(lock.has_value(), "take the slot");
    require(is_held(7), "see that we hold it");
    self.tell_parent();
    self.wait_for_parent();
  });
  ASSERT_TRUE(child.wait_for_child());
  EXPECT_TRUE(is_held(7));
  EXPECT_FALSE(is_held(6) || is_held(8));
  EXPECT_FALSE(SlotLock::take(path_, 7));
  child.kill();
  (void)child.wait();
  EXPECT_FALSE(is_held(7));
  EXPECT_TRUE(SlotLock::take(path_, 7));
}

TEST_F(SlotLocking, ClosingAllDescriptorsDoesNotLoseIt) {
  const auto lock = SlotLock::take(path_, 7);
  ASSERT_TRUE(lock && !lock->by_descriptor());
  EXPECT_EQ(0, in_child([&] {
              const auto mine = SlotLock::take(path_, 8);
              require(::close_range(3, ~0U, 0) == 0, "close all");
              require(is_held(8), "hold it still");
            }));
}

TEST_F(SlotLocking, AChildOfForkDoesNotKeepIt) {
  Child child([&](Child& self) {
    const auto lock = SlotLock::take(path_, 7);
    const pid_t grandchild = ::fork();
    require(grandchild >= 0, "fork");
    if (grandchild == 0) {
      self.wait_for_parent();
      ::_exit(0);
    }
    self.tell_parent();
    self.wait_for_parent();
  });
  ASSERT_TRUE(child.wait_for_child());
  child.kill();
  (void)child.wait();
  EXPECT_FALSE(is_held(7));
  child.tell_child();
}

TEST_F(SlotLocking, WhereAnotherFileLiesNobodyIsDead) {
  EXPECT_TRUE(SlotLocks(path_, {}).is_held(7));
  EXPECT_TRUE(SlotLocks(path_ + "gone", {}).is_held(7));
}

// A mapping there is of another file than the descriptor.
TEST_F(SlotLocking, OnAFileSystemOverOthersADescriptorKeepsIt) {
  const std::string& at = temporary_.directory();
  for (const char* name : {"/lower", "/upper", "/work", "/merged"})
    std::filesystem::create_directory(at + name);
  const int status = in_child([&] {
    const std::string options =
        "lowerdir=" + at + "/lower,upperdir=" + at + "/upper,workdir=" + at + "/work";
    const std::string merged = at + "/merged";
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", merged.c_str(), "overlay", 0, options.c_str()) != 0)
      ::_exit(77);
    const std::string path = merged + "/file";
    std::ofstream(path) << "a file";
    auto lock = SlotLock::take(path, 7);
    require(lock && lock->by_descriptor(), "take it by a descriptor");
    const os::UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    const FileId id = file_behind(file.get());
    require(SlotLocks(path, id).is_held(7), "hold it");
    require(!SlotLock::take(path, 7), "have it alone");
    lock = {};
    require(!SlotLocks(path, id).is_held(7), "give it back");
  });
  if (status == 77) {
    std::cout << "SKIPPED: no overlayfs can be mounted here\n";
    GTEST_SKIP();
  }
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace berth::simgpu
