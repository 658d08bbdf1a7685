// SPDX-License-Identifier: Apache-2.0
#include "sim/observations.h"

#include <gtest/gtest.h>

#include "base/checked.h"

namespace berth::sim {
namespace {

/// A GPU of 16 GiB. A process that nothing holds to its budget of 7 has 8 of it, and its lease is
/// told to end; another waits for 9.
class AboveItsBudget : public testing::Test {
 protected:
  static constexpr LeaseId kEnds{1};
  static constexpr LeaseId kWaits{2};
  static constexpr DeviceId kGpu{1, 2, false};

  AboveItsBudget() {
    EXPECT_TRUE(devices.allocate(command, 0, gib(8)));
    observations.settings.reserve = {};
    apply(RequestQueued{kEnds, {7, 1}, {1000}, {}, {.vram = gib(7)}});
    apply(LeaseGranted{kEnds, {{kGpu, gib(7)}}});
    apply(LeaseClaimed{kEnds, command});
    apply(LeaseReleasing{kEnds, EndResult::kDetached});
    apply(RequestQueued{kWaits, {7, 2}, {1000}, {}, {.vram = gib(9)}});
  }
  static Device gpu() {
    return {
        .id = kGpu, .model = "GPU", .capacity = gib(16), .figures = {}, .lost = false, .uses = {}};
  }
  void apply(const Fact& fact) {
    const Record record{++sequence, {seconds(10).ns}, {}, fact};
    EXPECT_EQ(observations.journal.apply(record, context.coverage), "");
  }
  bool may_be_granted() {
    const ReferenceLease before = observations.journal.leases().at(kWaits);
    apply(LeaseGranted{kWaits, {{kGpu, gib(9)}}});
    return check_grant(observations, observations.journal.leases().at(kWaits), before).empty();
  }
  void asked_at(Duration since_start) { observations.last_asked_at = {since_start.ns}; }

  SimContext context{1, false};
  Processes processes{context, 0};
  Process command = processes.spawn(
      {.parent = {}, .user = {1000}, .name = "", .lease = Handle{7, 1}, .outer = {}, .on_end = {}});
  Devices devices{context, processes, {gpu()}, {}};
  Observations observations{.devices = devices, .processes = processes, .reserve_least = {}};
  std::uint64_t sequence = 0;
};

TEST_F(AboveItsBudget, IsKnownWhenASampleWasAskedForSinceItsEnd) {
  asked_at(seconds(11));
  EXPECT_FALSE(may_be_granted());
}

TEST_F(AboveItsBudget, IsNotKnownBySamplesFromBefore) {
  asked_at(seconds(9));
  EXPECT_TRUE(may_be_granted());
}

TEST_F(AboveItsBudget, IsNotKnownOfWhatHasComeBackSince) {
  asked_at(seconds(11));
  observations.known[kEnds].back_at = {seconds(12).ns};
  EXPECT_TRUE(may_be_granted());
}

}  // namespace
}  // namespace berth::sim
