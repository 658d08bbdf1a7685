// SPDX-License-Identifier: Apache-2.0
#include "server/dead_slots.h"

#include <gtest/gtest.h>

namespace berth::server {
namespace {

constexpr DeviceId kCard = {1, 1};
constexpr DeviceId kOtherCard = {2, 2};
constexpr Handle kLeaseOfDead = {5, 5};
constexpr Process kDeadOne = {.pid = 40, .start_ticks = 7};

DeviceSample card(DeviceId id, std::vector<ProcessSample> processes = {}) {
  DeviceSample device;
  device.id = id;
  device.processes = std::move(processes);
  return device;
}
Sample sample_with(std::vector<DeviceSample> devices) {
  Sample sample;
  sample.devices = std::move(devices);
  return sample;
}
ProcessSample listed_as(Process process, bool alive) {
  ProcessSample sample;
  sample.process = process;
  sample.alive = alive;
  return sample;
}

TEST(IsFreed, WhatTheDriverDoesNotList) {
  EXPECT_EQ(is_freed(kDeadOne, {kCard}, sample_with({card(kCard)})), Freed::kYes);
  const auto other = listed_as({.pid = 41}, false);
  EXPECT_EQ(is_freed(kDeadOne, {kCard}, sample_with({card(kCard, {other})})), Freed::kYes);
}

TEST(IsFreed, NotWhatItLists) {
  // Of the dead it has the pid alone.
  const auto dead = listed_as({.pid = 40}, false);
  EXPECT_EQ(is_freed(kDeadOne, {kCard}, sample_with({card(kCard, {dead})})), Freed::kNo);
  EXPECT_EQ(
      is_freed(kDeadOne, {kCard, kOtherCard}, sample_with({card(kCard), card(kOtherCard, {dead})})),
      Freed::kNo);
  EXPECT_EQ(is_freed(kDeadOne, {kCard}, sample_with({card(kCard), card(kOtherCard, {dead})})),
            Freed::kYes);
}

TEST(IsFreed, NotOfOneThatNobodyHasWaitedForYet) {
  EXPECT_EQ(is_freed(kDeadOne, {kCard}, sample_with({card(kCard, {listed_as(kDeadOne, true)})})),
            Freed::kNo);
  const Process later{.pid = 40, .start_ticks = 8};
  EXPECT_EQ(is_freed(kDeadOne, {kCard}, sample_with({card(kCard, {listed_as(later, true)})})),
            Freed::kYes);
}

TEST(IsFreed, OfOneWithoutANameNotWhileAnyDeadOneIsListed) {
  const auto dead = listed_as({.pid = 99}, false);
  const auto living = listed_as({.pid = 98}, true);
  EXPECT_EQ(is_freed({}, {kCard}, sample_with({card(kCard, {living})})), Freed::kYes);
  EXPECT_EQ(is_freed({}, {kCard}, sample_with({card(kCard, {living, dead})})), Freed::kNo);
}

TEST(IsFreed, IsNotKnownWhereTheDriverDoesNotTell) {
  Sample figures_missing = sample_with({card(kCard)});
  figures_missing.devices[0].processes.reset();
  EXPECT_EQ(is_freed(kDeadOne, {kCard}, figures_missing), Freed::kUnknown);
  Sample lost = sample_with({card(kCard)});
  lost.devices[0].lost = true;
  EXPECT_EQ(is_freed(kDeadOne, {kCard}, lost), Freed::kUnknown);
  EXPECT_EQ(is_freed(kDeadOne, {kOtherCard}, sample_with({card(kCard)})), Freed::kUnknown);
  Sample trouble = sample_with({card(kCard)});
  trouble.trouble = "it does not answer";
  EXPECT_EQ(is_freed(kDeadOne, {kCard}, trouble), Freed::kUnknown);
  Sample asleep = sample_with({card(kCard)});
  asleep.devices[0].asleep = true;
  asleep.devices[0].processes.reset();
  EXPECT_EQ(is_freed(kDeadOne, {kCard}, asleep), Freed::kYes);
}

class DeadSlotsTest : public ::testing::Test {
 protected:
  DeadSlots::Dead dead(bool named = true) const {
    return {.slot = {.index = 3, .process = kDeadOne, .namespaces = 9, .charged = mib(5)},
            .named = named,
            .devices = {kCard}};
  }
  std::size_t freed(const Sample& sample, Instant now) {
    std::size_t count = 0;
    for (const DeadSlots::Settled& settled : slots_.answered(sample, now))
      count += settled.freed.size();
    return count;
  }
  static Instant at(Duration time) { return Instant{} + time; }

  const Sample gone_ = sample_with({card(kCard)});
  const Sample there_ = sample_with({card(kCard, {listed_as({.pid = 40}, false)})});
  DeadSlots slots_;
};

TEST_F(DeadSlotsTest, AreClearedByTheFirstAnswerThatListsThemNoMore) {
  slots_.found(kLeaseOfDead, {dead()}, at(seconds(1)));
  EXPECT_EQ(freed(there_, at(seconds(2))), 0U);
  EXPECT_EQ(freed(there_, at(minutes(60))), 0U);
  const auto settled = slots_.answered(gone_, at(minutes(60)));
  ASSERT_EQ(settled.size(), 1U);
  EXPECT_EQ(settled[0].lease, kLeaseOfDead);
  ASSERT_EQ(settled[0].freed.size(), 1U);
  EXPECT_EQ(settled[0].freed[0], dead().slot);
  EXPECT_TRUE(slots_.answered(gone_, at(minutes(60))).empty());
}

// So that a program that waits for it knows that a daemon looks after it.
TEST_F(DeadSlotsTest, LeasesAreToldOfEachAnswer) {
  slots_.found(kLeaseOfDead, {dead()}, at(seconds(1)));
  EXPECT_EQ(slots_.answered(there_, at(seconds(2))).size(), 1U);
  EXPECT_EQ(slots_.answered(there_, at(seconds(3))).size(), 1U);
}

TEST_F(DeadSlotsTest, WithoutANameTheyMayBeListedAsAliveForAMoment) {
  slots_.found(kLeaseOfDead, {dead(false)}, at(seconds(1)));
  EXPECT_EQ(freed(gone_, at(seconds(1))), 0U);
  EXPECT_EQ(freed(gone_, at(seconds(1)) + DeadSlots::kZombieFor), 1U);
}

TEST_F(DeadSlotsTest, WithoutANameTheyDoNotWaitForAnothersDeadForEver) {
  slots_.found(kLeaseOfDead, {dead(false)}, at(seconds(1)));
  EXPECT_EQ(freed(there_, at(seconds(30))), 0U);
  slots_.found(kLeaseOfDead, {dead(false)},
               at(seconds(30)));  // Found again: it is as old as it is.
  EXPECT_EQ(freed(there_, at(seconds(31))), 1U);
}

TEST_F(DeadSlotsTest, WhereTheDriverDoesNotTellTheyAreClearedAfterAWhile) {
  Sample figures_missing = gone_;
  figures_missing.devices[0].processes.reset();
  slots_.found(kLeaseOfDead, {dead()}, at(seconds(1)));
  EXPECT_EQ(freed(figures_missing, at(seconds(2))), 0U);
  EXPECT_EQ(freed(figures_missing, at(seconds(3))), 1U);
}

TEST_F(DeadSlotsTest, ThatAreNotFoundAnyMoreAreForgotten) {
  slots_.found(kLeaseOfDead, {dead()}, at(seconds(1)));
  slots_.found(kLeaseOfDead, {}, at(seconds(2)));
  EXPECT_TRUE(slots_.answered(gone_, at(seconds(2))).empty());
  slots_.found(kLeaseOfDead, {dead()}, at(seconds(3)));
  slots_.forget(kLeaseOfDead);
  EXPECT_TRUE(slots_.answered(gone_, at(seconds(4))).empty());
}

TEST_F(DeadSlotsTest, LetTheDriverBeAskedOftenAtFirst) {
  EXPECT_EQ(slots_.next(at(seconds(1))), Instant::never());
  slots_.found(kLeaseOfDead, {dead()}, at(seconds(1)));
  EXPECT_EQ(slots_.next(at(seconds(1))), at(seconds(1)) + DeadSlots::kFastEvery);
  EXPECT_EQ(slots_.next(at(seconds(2))), at(seconds(2)) + DeadSlots::kSlowEvery);
  EXPECT_EQ(slots_.next(at(seconds(31))), Instant::never());
}

}  // namespace
}  // namespace berth::server
