// SPDX-License-Identifier: Apache-2.0
#include "cli/run/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/render/sample_test.h"

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

LeaseView peaked_at(Bytes peak, std::uint64_t refused = 0) {
  return lease_on({{.device = kHere,
                    .index = 0,
                    .granted = gib(8),
                    .used = std::nullopt,
                    .peak = peak,
                    .refused = refused}});
}

TEST(PeakText, SaysHowMuchOfTheBudgetWasUsedWhereItHelps) {
  EXPECT_EQ(peak_text(peaked_at(mib(7475))), "lease 12 peaked at 7.3 GiB of 8.0 GiB");
  EXPECT_EQ(peak_text(peaked_at(gib(8), 3)),
            "lease 12 peaked at 8.0 GiB of 8.0 GiB, and 3 allocations were refused: try a "
            "larger -m");
  EXPECT_EQ(peak_text(peaked_at(gib(4), 1)),
            "lease 12 peaked at 4.0 GiB of 8.0 GiB, and 1 allocation was refused: try a "
            "larger -m");
  EXPECT_EQ(peak_text(peaked_at(gib(2))),
            "lease 12 peaked at 2.0 GiB of 8.0 GiB: -m 2304M would be enough");
}

TEST(PeakText, OfARefusalSaysHowMuchWhenAndWhatWouldHaveDone) {
  RefusedAllocation last{
      .bytes = mib(512), .used = mib(3900), .budget = gib(4), .after = seconds(12)};
  EXPECT_EQ(peak_text(peaked_at(mib(3900), 1), {.last = last}),
            "lease 12 was refused 512 MiB after 12 s, with 3.8 GiB of 4.0 GiB in use: -m 4608M "
            "would have allowed it");
  last.after.reset();
  EXPECT_EQ(peak_text(peaked_at(mib(3900), 3), {.last = last}),
            "lease 12 was refused 512 MiB, with 3.8 GiB of 4.0 GiB in use (the last of 3 "
            "refusals): -m 4608M would have allowed it");
}

TEST(PeakText, NoBudgetIsProposedThatTheGpuCannotGrant) {
  const Bytes largest = mib(15872);
  LeaseView lease = peaked_at(gib(1), 1);
  RefusedAllocation last{.bytes = gib(20), .used = gib(1), .budget = gib(8), .after = {}};
  const auto text = [&] { return peak_text(lease, {.last = last, .largest = largest}); };
  EXPECT_EQ(text(),
            "lease 12 was refused 20.0 GiB, with 1.0 GiB of 8.0 GiB in use: more than this GPU can "
            "grant (15.5 GiB)");
  last.bytes = gib(15);
  EXPECT_EQ(text(),
            "lease 12 was refused 15.0 GiB, with 1.0 GiB of 8.0 GiB in use: together more than "
            "this GPU can grant (15.5 GiB)");
  last.bytes = mib(14848);
  EXPECT_EQ(text(),
            "lease 12 was refused 14.5 GiB, with 1.0 GiB of 8.0 GiB in use: -m 15872M would have "
            "allowed it")
      << "all that there is, and no step above it";
  lease.parts.push_back({.device = kThere, .index = 1, .granted = gib(8)});
  last.bytes = gib(20);
  EXPECT_THAT(text(), testing::EndsWith(": more than these GPUs can grant (15.5 GiB each)"));
}

TEST(PeakText, WhoseBudgetWasTheLargestIsNotToldToAskMore) {
  LeaseView lease = peaked_at(mib(15800), 3);
  lease.parts[0].granted = mib(15872);
  EXPECT_EQ(peak_text(lease, {.largest = mib(15872)}),
            "lease 12 peaked at 15.4 GiB of 15.5 GiB, and 3 allocations were refused: there was "
            "need for more than this GPU can grant (15.5 GiB)");
}

TEST(PeakText, IsSilentWhereItHelpsNobody) {
  EXPECT_EQ(peak_text(small_lease()), "");
  EXPECT_EQ(peak_text(peaked_at({})), "");
  EXPECT_EQ(peak_text(peaked_at(mib(6500))), "");
  LeaseView learned = peaked_at(mib(7800));
  learned.request.learned = true;
  EXPECT_EQ(peak_text(learned), "");
  LeaseView small = peaked_at(mib(100));
  small.parts[0].granted = gib(1);
  EXPECT_EQ(peak_text(small), "");
}

TEST(PeakText, OfAWholeGpuSaysWhatOthersCouldHaveUsed) {
  LeaseView whole = peaked_at(gib(5));
  whole.request.share = Share::kExclusive;
  EXPECT_EQ(peak_text(whole), "lease 12 peaked at 5.0 GiB of 8.0 GiB: -m 5376M would be enough");
  whole.parts[0].peak = mib(7800);
  EXPECT_EQ(peak_text(whole), "");
  whole.parts[0].refused = 2;
  EXPECT_EQ(peak_text(whole), "lease 12 peaked at 7.6 GiB of 8.0 GiB, all that there was");
}

TEST(PeakText, OfSeveralGpusIsTheHighest) {
  LeaseView lease = peaked_at(gib(1));
  lease.parts.push_back(
      {.device = kThere, .index = 1, .granted = gib(8), .used = std::nullopt, .peak = mib(7900)});
  EXPECT_EQ(peak_text(lease), "lease 12 peaked at 7.7 GiB of 8.0 GiB on a GPU");
}

TEST(PressureText, TellsWhatIsUsedAndWhenThatIsAll) {
  LeaseView lease = lease_on({{.device = kHere, .index = 0, .granted = gib(8), .used = gib(5)}});
  EXPECT_EQ(pressure_text(lease), "");
  lease.pressure = Pressure::kWarn;
  EXPECT_EQ(pressure_text(lease), "") << "there is room, and nothing grows";
  lease.full_in = seconds(90);
  EXPECT_EQ(pressure_text(lease),
            "lease 12 uses 5.0 GiB of 8.0 GiB, and in about 1m30s all of it at this rate");
  lease.pressure = Pressure::kCritical;
  lease.full_in.reset();
  lease.parts[0].ledger = mib(7680);
  EXPECT_EQ(pressure_text(lease), "lease 12 uses 7.5 GiB of 8.0 GiB, almost all of its budget");
  lease.parts.push_back({.device = kThere, .index = 1, .granted = gib(8), .used = gib(8)});
  EXPECT_EQ(pressure_text(lease),
            "lease 12 uses 8.0 GiB of 8.0 GiB on a GPU, almost all of its budget");
  lease.flags.over_budget = true;
  EXPECT_EQ(pressure_text(lease), "") << "that it is above its budget was told";
  lease.flags.over_budget = false;
  lease.request.share = Share::kExclusive;
  EXPECT_EQ(pressure_text(lease), "") << "a lease that has a GPU to itself may fill it";
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
  EXPECT_EQ(too_much_text(lease, {.vram = gib(12)}, Joining::kOuter),
            "you are inside lease 12 (8.0 GiB on GPU 0): berth resize 12 -m 12G, or --new-lease");
  EXPECT_EQ(too_much_text(lease, {.exclusive = true}, Joining::kOuter),
            "you are inside lease 12 (8.0 GiB on GPU 0): berth resize 12 -x, or --new-lease");
  EXPECT_NE(too_much_text(lease, {.share = "exclusive"}, Joining::kOuter), "");
  EXPECT_NE(too_much_text(lease, {.limit = hours(1)}, Joining::kOuter), "");
  for (const char* gpus : {"2", "1,", "0,1", "GPU-00000000-0000-0003"}) {
    EXPECT_NE(too_much_text(lease, {.gpus = gpus}, Joining::kOuter), "") << gpus;
  }
}

TEST(TooMuchText, SaysOfANamedLeaseHowToDoWithout) {
  const LeaseView lease = small_lease();
  EXPECT_EQ(
      too_much_text(lease, {.vram = gib(12)}, Joining::kNamed),
      "--lease: lease 12 (8.0 GiB on GPU 0): berth resize 12 -m 12G, or another lease, without "
      "--lease");
}

TEST(FaultOfJoining, NamesTheStateAndTheCure) {
  LeaseView lease = small_lease();
  lease.user = {1000};
  const auto in_state = [&](LeaseState state, UserId me = {1000}) {
    lease.state = state;
    const auto fault = fault_of_joining(lease, me);
    return fault ? std::to_string(static_cast<int>(fault->code)) + ": " + fault->sentence : "";
  };
  EXPECT_EQ(in_state(LeaseState::kHeld), "");
  EXPECT_EQ(in_state(LeaseState::kSuspended), "");
  EXPECT_EQ(in_state(LeaseState::kHeld, {2000}), "77: --lease: lease 12 is another user's");
  const std::string waits = "75: --lease: lease 12 waits for its turn (berth why 12)";
  EXPECT_EQ(in_state(LeaseState::kWaiting), waits);
  const std::string over = "66: --lease: lease 12 has ended: berth reserve asks for another one";
  EXPECT_EQ(in_state(LeaseState::kReleasing), over);
  EXPECT_EQ(in_state(LeaseState::kEnded), over);
  lease.flags.unclaimed = true;
  EXPECT_EQ(in_state(LeaseState::kHeld), waits) << "it is only offered";
}

TEST(TooMuchText, WhatTheLeaseHasIsNotTooMuch) {
  LeaseView lease = small_lease();
  EXPECT_EQ(too_much_text(lease, {}, Joining::kOuter), "");
  EXPECT_EQ(too_much_text(lease, {.vram = gib(8)}, Joining::kOuter), "");
  for (const char* gpus : {"1", "any", "0,", "GPU-00000000-0000-0001"}) {
    EXPECT_EQ(too_much_text(lease, {.gpus = gpus}, Joining::kOuter), "") << gpus;
  }
  lease.request.share = Share::kExclusive;
  EXPECT_EQ(too_much_text(lease, {.exclusive = true}, Joining::kOuter), "");
}

TEST(TooMuchText, OneDeviceOfSeveralBoundsAll) {
  const LeaseView lease = lease_on({{.device = kHere, .index = 0, .granted = gib(8)},
                                    {.device = kThere, .index = 1, .granted = gib(4)}});
  EXPECT_EQ(too_much_text(lease, {.vram = gib(4)}, Joining::kOuter), "");
  EXPECT_NE(too_much_text(lease, {.vram = gib(5)}, Joining::kOuter), "");
}

TEST(RequeuingText, SaysByWhom) {
  LeaseView lease = small_lease();
  EXPECT_EQ(requeuing_text(lease, sample::context()),
            "lease 12 is stopped, to wait in the queue and be started again");
  lease.requeued_by = UserId{7};
  EXPECT_EQ(requeuing_text(lease, sample::context()),
            "lease 12 is stopped by guest, to wait in the queue and be started again");
}

TEST(RevokedText, TellsTheLimitFromTheCancellation) {
  LeaseView lease = small_lease();
  lease.request.limit = seconds(90);
  lease.result = EndResult::kLimit;
  EXPECT_EQ(revoked_text(lease, sample::context()),
            "lease 12 has reached its limit of 1m30s; its command was told to end");
  lease.result = EndResult::kCancelled;
  EXPECT_EQ(revoked_text(lease, sample::context()),
            "lease 12 was cancelled; its command was told to end");
  lease.ended_by = UserId{7};
  EXPECT_EQ(revoked_text(lease, sample::context()),
            "lease 12 was cancelled by guest; its command was told to end");
  lease.result = EndResult::kOverBudget;
  EXPECT_EQ(revoked_text(lease, sample::context()),
            "lease 12 was above its budget of 8.0 GiB for too long; its command was told to end");
}

}  // namespace
}  // namespace berth::cli
