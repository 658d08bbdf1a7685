// SPDX-License-Identifier: Apache-2.0
#include "server/history_readings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::server {
namespace {

using history::Figure;
using history::Kind;
using history::Reading;
using testing::IsEmpty;

constexpr DeviceId kReadFrom = {.high = 1, .low = 2};
constexpr Process kJob = {100, 7};
constexpr Process kChild = {101, 8};
constexpr Process kDesktop = {5, 9};

Sample sample() {
  Sample sample;
  sample.devices.push_back({.id = kReadFrom,
                            .capacity = gib(16),
                            .used = gib(5),
                            .processes = std::vector<ProcessSample>{
                                {.process = kJob, .used = gib(3), .name = "python"},
                                {.process = kChild, .used = gib(1), .name = "worker"},
                                {.process = kDesktop, .used = mib(100), .name = "Xorg"}}});
  return sample;
}

DeviceView device_view() {
  return {.id = kReadFrom, .unmanaged = mib(100), .granted = gib(8)};
}

LeaseView held() {
  LeaseView lease{.id = {4}, .user = {1000}, .state = LeaseState::kHeld};
  lease.request.name = "train";
  lease.command = kJob;
  lease.members = {kChild};
  lease.parts = {{.device = kReadFrom, .granted = gib(8), .used = gib(4), .peak = gib(6)}};
  lease.queued_at = {1'000};
  lease.started_at = UnixMs{4'000};
  return lease;
}

std::optional<Bytes> value_of(const std::vector<Reading>& readings, history::Subject subject) {
  for (const Reading& reading : readings) {
    if (reading.subject == subject) return reading.value;
  }
  return std::nullopt;
}

TEST(HistoryReadings, AreOfDevicesLeasesAndProcesses) {
  const std::vector<Reading> readings = readings_of(sample(), {device_view()}, {held()});
  EXPECT_EQ(value_of(readings, {kReadFrom, {}, {}, Figure::kUsed}), gib(5));
  EXPECT_EQ(value_of(readings, {kReadFrom, {}, {}, Figure::kGranted}), gib(8));
  EXPECT_EQ(value_of(readings, {kReadFrom, {}, {}, Figure::kUnmanaged}), mib(100));
  EXPECT_EQ(value_of(readings, {kReadFrom, {4}, {}, Figure::kUsed}), gib(4));
  EXPECT_EQ(value_of(readings, {kReadFrom, {4}, {}, Figure::kGranted}), gib(8));
  EXPECT_EQ(value_of(readings, {kReadFrom, {4}, kJob, Figure::kUsed}), gib(3));
  EXPECT_EQ(value_of(readings, {kReadFrom, {4}, kChild, Figure::kUsed}), gib(1));
  EXPECT_EQ(value_of(readings, {kReadFrom, {}, kDesktop, Figure::kUsed}), mib(100));
  EXPECT_EQ(readings.size(), 8U);
}

TEST(HistoryReadings, WhatIsUnknownIsLeftOut) {
  Sample figures_missing = sample();
  figures_missing.devices[0].used.reset();
  figures_missing.devices[0].processes.reset();
  DeviceView view = device_view();
  view.unmanaged.reset();
  LeaseView lease = held();
  lease.parts[0].used.reset();
  const std::vector<Reading> readings = readings_of(figures_missing, {view}, {lease});
  ASSERT_EQ(readings.size(), 2U);
  for (const Reading& reading : readings) EXPECT_EQ(reading.subject.figure, Figure::kGranted);
}

TEST(HistoryReadings, OfALostOrSleepingDeviceOnlyThePromiseIsKnown) {
  for (const bool lost : {true, false}) {
    Sample away = sample();
    away.devices[0].lost = lost;
    away.devices[0].asleep = !lost;
    const std::vector<Reading> readings = readings_of(away, {device_view()}, {held()});
    ASSERT_EQ(readings.size(), 1U);
    EXPECT_EQ(readings[0].subject, (history::Subject{kReadFrom, {4}, {}, Figure::kGranted}));
  }
}

TEST(HistoryReadings, ADeadProcessIsNobody) {
  Sample dead = sample();
  (*dead.devices[0].processes)[0].alive = false;
  const std::vector<Reading> readings = readings_of(dead, {device_view()}, {held()});
  EXPECT_EQ(value_of(readings, {kReadFrom, {4}, kJob, Figure::kUsed}), std::nullopt);
}

TEST(HistorySessions, AddUpOverTheDevicesOfALease) {
  LeaseView lease = held();
  lease.parts.push_back({.device = {9, 9}, .granted = gib(8), .used = gib(1), .peak = gib(2)});
  history::Session session = session_of(lease);
  EXPECT_EQ(session.devices, 2U);
  EXPECT_EQ(session.granted, gib(16));
  EXPECT_EQ(session.peak, gib(8));
  EXPECT_EQ(session.ended, std::nullopt);
  add_use(session, lease, seconds(2));
  EXPECT_EQ(session.known_ms, 2'000U);
  EXPECT_EQ(session.used_mib_ms, 5U * 1'024 * 2'000);
  EXPECT_EQ(session.unused_mib_ms, 11U * 1'024 * 2'000);
}

TEST(HistorySessions, UseBeyondTheBudgetIsNotLessThanNothingUnused) {
  LeaseView lease = held();
  lease.parts[0].used = gib(9);
  history::Session session = session_of(lease);
  add_use(session, lease, seconds(1));
  EXPECT_EQ(session.unused_mib_ms, 0U);
  EXPECT_EQ(session.used_mib_ms, 9U * 1'024 * 1'000);
}

TEST(HistorySessions, WhatIsNotKnownOfOneDeviceIsNotKnownOfTheLease) {
  LeaseView lease = held();
  lease.parts.push_back({.device = {9, 9}, .granted = gib(8)});
  history::Session session = session_of(lease);
  EXPECT_EQ(session.peak, std::nullopt);
  add_use(session, lease, seconds(1));
  EXPECT_EQ(session.known_ms, 0U);
}

}  // namespace
}  // namespace berth::server
