// SPDX-License-Identifier: Apache-2.0
#include "guard/exports.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>

#include "guard/lock_line.h"

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

// As after closefrom(), or when a program closes one twice. Nobody can say then who has the memory.
TEST(Exports, AFileOfTheProgramsOnOurNumberIsNotClosedAndItStays) {
  const auto exports = std::make_unique<Exports>();
  const int fd = make_descriptor();
  const int ours = ::fcntl(fd, F_DUPFD_CLOEXEC, kOutOfTheWay);  // The number that is taken next.
  ::close(ours);
  exports->exported(kFreed.object, fd, 1);
  ASSERT_NE(::fcntl(ours, F_GETFD), -1);
  const int other = ::memfd_create("the program's", MFD_CLOEXEC);
  ASSERT_EQ(::dup2(other, ours), ours);
  EXPECT_TRUE(exports->stays(kFreed));
  ::close(fd);
  EXPECT_EQ(collected(*exports), 0U);
  EXPECT_NE(::fcntl(ours, F_GETFD), -1);
  ::close(ours);
  EXPECT_EQ(collected(*exports), 0U);
  ::close(other);
}

TEST(Exports, DescriptorsAreOutOfTheWayOfTheProgramsOwn) {
  const auto exports = std::make_unique<Exports>();
  const int fd = make_descriptor();
  const int next = ::dup(fd);
  ::close(next);
  exports->exported(kFreed.object, fd, 1);
  exports->imported(8, fd);
  EXPECT_EQ(::fcntl(next, F_GETFD), -1);
  ::close(fd);
}

// By another descriptor of the driver's for the same memory.
TEST(Exports, WhatAnImporterExportsAnewHoldsIt) {
  const auto owner = std::make_unique<Exports>();
  const auto importer = std::make_unique<Exports>();
  const int fd = make_descriptor();
  owner->exported(kFreed.object, fd, 1);
  importer->imported(3, fd);
  const int anew = open_again(fd);
  importer->exported(3, anew, 2);
  ::close(fd);
  EXPECT_FALSE(importer->stays({.object = 3, .device = 0, .bytes = 0}));
  EXPECT_TRUE(owner->stays(kFreed));
  EXPECT_EQ(collected(*owner), 0U);
  ::close(anew);
  EXPECT_EQ(collected(*owner), 100U);
}

TEST(LockedPlace, IsTheFirstOfTheDescriptionsOwnFromTheLeastOn) {
  constexpr const char* kText =
      "pos:\t0\nflags:\t0100002\nmnt_id:\t1\nino:\t9\n"
      "lock:\t1: FLOCK  ADVISORY  WRITE -1 00:01:2049 0 EOF\n"
      "lock:\t2: OFDLCK ADVISORY  READ -1 00:01:2049 7 7\n"
      "lock:\t3: OFDLCK ADVISORY  READ -1 00:01:2049 4294967299 4294967299\n";
  EXPECT_EQ(locked_place(kText, 0), 7U);
  EXPECT_EQ(locked_place(kText, 8), 4294967299U);
  EXPECT_EQ(locked_place(kText, 4294967300U), 0U);
  EXPECT_EQ(locked_place("", 0), 0U);
  EXPECT_EQ(locked_place("lock:\t1: OFDLCK", 0), 0U);
  EXPECT_EQ(locked_place("OFDLCK a b c d 12", 0), 12U);
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
