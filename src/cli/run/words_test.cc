// SPDX-License-Identifier: Apache-2.0
#include "cli/run/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cli {
namespace {

const DeviceId kHere{1, 2};
const DeviceId kThere{3, 4};

LeaseView lease_on(std::vector<LeasePart> parts) {
  LeaseView lease{.id = {12}, .state = LeaseState::kHeld, .parts = std::move(parts)};
  lease.request.vram = gib(8);
  return lease;
}
LeaseView small_lease() {
  return lease_on({{.device = kHere, .index = 0, .granted = gib(8)}});
}

TEST(GrantedText, NamesDeviceBytesLeaseAndWait) {
  LeaseView lease = small_lease();
  const std::vector<DeviceView> devices = {{.id = kHere, .model = "RTX 5080"}};
  EXPECT_EQ(granted_text({.lease = lease, .devices = devices}),
            "granted GPU 0 (RTX 5080), 8.0 GiB, lease 12");
  lease.waited = seconds(187);
  EXPECT_EQ(granted_text({.lease = lease, .devices = devices, .simulated = true}),
            "granted simulated GPU 0 (RTX 5080), 8.0 GiB, lease 12, after 3m07s");
  EXPECT_EQ(granted_text({.lease = lease, .devices = {}}),
            "granted GPU 0, 8.0 GiB, lease 12, after 3m07s");
}

TEST(GrantedText, ThatItIsSimulatedIsSaidOnce) {
  const LeaseView lease = small_lease();
  const std::vector<DeviceView> devices = {{.id = kHere, .model = "GPU (simulated)"}};
  EXPECT_EQ(granted_text({.lease = lease, .devices = devices, .simulated = true}),
            "granted GPU 0 (GPU (simulated)), 8.0 GiB, lease 12");
}

TEST(GrantedText, ModelIsSaidOnceAndOnlyIfAllAreOfIt) {
  const LeaseView lease = lease_on({{.device = kHere, .index = 0, .granted = gib(8)},
                                    {.device = kThere, .index = 1, .granted = gib(8)}});
  std::vector<DeviceView> devices = {{.id = kHere, .model = "A100"},
                                     {.id = kThere, .model = "A100"}};
  EXPECT_EQ(granted_text({.lease = lease, .devices = devices}),
            "granted GPU 0 and 1 (A100), 8.0 GiB on each, lease 12");
  devices[1].model = "H100";
  EXPECT_EQ(granted_text({.lease = lease, .devices = devices}),
            "granted GPU 0 and 1, 8.0 GiB on each, lease 12");
}

TEST(LeftoversText, CountsAndNamesTheCure) {
  LeaseView lease = small_lease();
  EXPECT_EQ(leftovers_text(lease), "");
  lease.members = {{1, 1}};
  EXPECT_EQ(leftovers_text(lease),
            "1 process of lease 12 still uses GPU 0; it stays held until it ends (berth release "
            "--kill 12)");
  lease.members = {{1, 1}, {2, 1}};
  EXPECT_EQ(leftovers_text(lease),
            "2 processes of lease 12 still use GPU 0; it stays held until they end (berth release "
            "--kill 12)");
  lease.state = LeaseState::kReleasing;
  EXPECT_EQ(leftovers_text(lease), "");
}

TEST(TooMuchText, SaysWhatTheLeaseHasAndTheWayOut) {
  const LeaseView lease = small_lease();
  EXPECT_EQ(too_much_text(lease, {.vram = gib(12)}),
            "you are inside lease 12 (8.0 GiB on GPU 0): berth resize 12 -m 12G, or --new-lease");
  EXPECT_EQ(too_much_text(lease, {.exclusive = true}),
            "you are inside lease 12 (8.0 GiB on GPU 0): berth resize 12 -x, or --new-lease");
  EXPECT_NE(too_much_text(lease, {.share = "exclusive"}), "");
  EXPECT_NE(too_much_text(lease, {.limit = hours(1)}), "");
  for (const char* gpus : {"2", "1,", "0,1", "GPU-00000000-0000-0003"}) {
    EXPECT_NE(too_much_text(lease, {.gpus = gpus}), "") << gpus;
  }
}

TEST(TooMuchText, WhatTheLeaseHasIsNotTooMuch) {
  LeaseView lease = small_lease();
  EXPECT_EQ(too_much_text(lease, {}), "");
  EXPECT_EQ(too_much_text(lease, {.vram = gib(8)}), "");
  for (const char* gpus : {"1", "any", "0,", "GPU-00000000-0000-0001"}) {
    EXPECT_EQ(too_much_text(lease, {.gpus = gpus}), "") << gpus;
  }
  lease.request.share = Share::kExclusive;
  EXPECT_EQ(too_much_text(lease, {.exclusive = true}), "");
}

TEST(TooMuchText, OneDeviceOfSeveralBoundsAll) {
  const LeaseView lease = lease_on({{.device = kHere, .index = 0, .granted = gib(8)},
                                    {.device = kThere, .index = 1, .granted = gib(4)}});
  EXPECT_EQ(too_much_text(lease, {.vram = gib(4)}), "");
  EXPECT_NE(too_much_text(lease, {.vram = gib(5)}), "");
}

TEST(RevokedText, TellsTheLimitFromTheCancellation) {
  LeaseView lease = small_lease();
  lease.request.limit = seconds(90);
  lease.result = EndResult::kLimit;
  EXPECT_EQ(revoked_text(lease),
            "lease 12 has reached its limit of 1m30s; its command was told to end");
  lease.result = EndResult::kCancelled;
  EXPECT_EQ(revoked_text(lease), "lease 12 was cancelled; its command was told to end");
}

}  // namespace
}  // namespace berth::cli
