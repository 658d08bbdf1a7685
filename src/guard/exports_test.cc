// SPDX-License-Identifier: Apache-2.0
#include "guard/exports.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>

namespace berth::guard {
namespace {

constexpr Physical::Freed kFreed{.object = 7, .device = 1, .bytes = 100};

// As a driver makes one.
int make_descriptor() {
  return ::memfd_create("exported", MFD_CLOEXEC);
}

std::uint64_t collected(Exports& exports) {
  std::uint64_t all = 0;
  exports.collect([&](std::uint32_t device, std::uint64_t bytes) {
    EXPECT_EQ(device, kFreed.device);
    all += bytes;
  });
  return all;
}

TEST(Exports, MemoryStaysUntilTheLastCopyOfADescriptorIsClosed) {
  const auto exports = std::make_unique<Exports>();
  const int fd = make_descriptor();
  exports->exported(kFreed.object, fd, 1);
  const int copy = ::dup(fd);
  EXPECT_TRUE(exports->stays(kFreed));
  ::close(fd);
  EXPECT_EQ(collected(*exports), 0U);
  ::close(copy);
  EXPECT_EQ(collected(*exports), 100U);
  EXPECT_EQ(collected(*exports), 0U);
}

TEST(Exports, AnImporterHoldsItAfterTheDescriptorIsClosed) {
  const auto owner = std::make_unique<Exports>();
  const auto importer = std::make_unique<Exports>();
  const int fd = make_descriptor();
  owner->exported(kFreed.object, fd, 1);
  importer->imported(3, fd);
  ::close(fd);
  EXPECT_TRUE(owner->stays(kFreed));
  EXPECT_EQ(collected(*owner), 0U);
  EXPECT_FALSE(importer->stays({.object = 3, .device = 0, .bytes = 0}));
  EXPECT_EQ(collected(*owner), 100U);
}

TEST(Exports, AFileOfTheProgramsOnOurNumberIsNotClosed) {
  const auto exports = std::make_unique<Exports>();
  const int fd = make_descriptor();
  const int ours = ::dup(fd);  // The number that is taken next.
  ::close(ours);
  exports->exported(kFreed.object, fd, 1);
  EXPECT_TRUE(exports->stays(kFreed));
  const int other = ::memfd_create("the program's", MFD_CLOEXEC);
  ASSERT_EQ(::dup2(other, ours), ours);  // As after closefrom().
  ::close(fd);
  EXPECT_EQ(collected(*exports), 100U);
  EXPECT_NE(::fcntl(ours, F_GETFD), -1);
  ::close(ours);
  ::close(other);
}

TEST(Exports, WhatNobodyElseHasDoesNotStay) {
  const auto exports = std::make_unique<Exports>();
  EXPECT_FALSE(exports->stays(kFreed));  // Never exported.
  const int fd = make_descriptor();
  exports->exported(kFreed.object, fd, 1);
  ::close(fd);
  EXPECT_FALSE(exports->stays(kFreed));
  exports->exported(kFreed.object, -1, 1);  // No descriptor.
  EXPECT_FALSE(exports->stays(kFreed));
}

TEST(Exports, TwoInOneFileAreToldApart) {
  const auto exports = std::make_unique<Exports>();
  const int first = make_descriptor();
  const int second = open_again(first);
  exports->exported(kFreed.object, first, 1);
  exports->exported(8, second, 1);
  ::close(second);
  EXPECT_FALSE(exports->stays({.object = 8, .device = 1, .bytes = 1}));
  EXPECT_TRUE(exports->stays(kFreed));
  ::close(first);
  EXPECT_EQ(collected(*exports), 100U);
}

TEST(Exports, ImportedMemoryThatWeHaveAlreadyIsOneMoreHandleOfIt) {
  const auto physical = std::make_unique<Physical>();
  ASSERT_TRUE(physical->created(0x10, 1, 100));
  EXPECT_EQ(physical->imported(0x10), 0U);
  EXPECT_EQ(physical->released(physical->begin_release(0x10)).object, 0U);
  EXPECT_EQ(physical->released(physical->begin_release(0x10)).bytes, 100U);
  const Physical::Object other = physical->imported(0x10);
  ASSERT_NE(other, 0U);
  const Physical::Freed freed = physical->released(physical->begin_release(0x10));
  EXPECT_EQ(freed.object, other);
  EXPECT_EQ(freed.bytes, 0U);
}

}  // namespace
}  // namespace berth::guard
