// SPDX-License-Identifier: Apache-2.0
#include "os/host_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/checked.h"

namespace berth::os {
namespace {

TEST(HostMemory, IsReadFromWhatTheKernelWrites) {
  EXPECT_EQ(available_in("MemTotal:  16 kB\nMemAvailable:   2048 kB\nBuffers: 1 kB\n"), mib(2));
  EXPECT_EQ(available_in("MemTotal: 16 kB\n"), std::nullopt);
  EXPECT_EQ(available_in("MemAvailable: much\n"), std::nullopt);
  EXPECT_EQ(available_in("MemAvailable:"), std::nullopt);
}

TEST(HostMemory, GroupIsThatOfTheUnifiedHierarchy) {
  EXPECT_EQ(group_in("12:cpu:/old\n0::/user.slice/job-7.scope\n"), "/user.slice/job-7.scope");
  EXPECT_EQ(group_in("12:cpu:/old\n"), "");
  EXPECT_EQ(group_in("0::/"), "/");
  EXPECT_EQ(group_in(""), "");
}

TEST(HostMemory, OfThisProcessSomethingIsLeft) {
  const std::optional<Bytes> left = host_memory_left(getpid());
  EXPECT_GT(checked(left), mib(1));
}

}  // namespace
}  // namespace berth::os
