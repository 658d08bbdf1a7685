// SPDX-License-Identifier: Apache-2.0
#include "core/devices.h"

#include <gtest/gtest.h>

#include "core/decider_for_test.h"

namespace berth::core {
namespace {

constexpr DeviceId kFirst{0xd0, 0, false};
constexpr DeviceId kSecond{0xd0, 1, false};

DeviceSample sampled(DeviceId id, std::uint32_t index) {
  return {.id = id,
          .index = index,
          .model = "Simulated",
          .capacity = gib(16),
          .used = Bytes{},
          .figures = {.driver_reserved = mib(100)},
          .processes = std::vector<ProcessSample>{}};
}

class DevicesTest : public testing::Test {
 protected:
  void sample(std::vector<DeviceSample> devices) {
    Sample sample;
    sample.devices = std::move(devices);
    if (parts.hear(sample)) parts.update(sample);
  }

  TestDecider core{{.reserve = mib(512), .context_estimate = mib(300)}};
  Ledger ledger;
  Devices parts{core, ledger};
};

TEST_F(DevicesTest, ADeviceOfASampleHasAnAccount) {
  sample({sampled(kFirst, 0)});
  const Account* account = ledger.find(kFirst);
  ASSERT_NE(account, nullptr);
  EXPECT_TRUE(account->seen);
  EXPECT_EQ(account->capacity, gib(16));
  EXPECT_EQ(account->reserve, mib(512));
  EXPECT_EQ(account->driver, mib(100));
}

TEST_F(DevicesTest, OneThatTheNextSampleDoesNotNameIsNotSeen) {
  sample({sampled(kFirst, 0), sampled(kSecond, 1)});
  sample({sampled(kSecond, 1)});
  EXPECT_FALSE(ledger.find(kFirst)->seen);
  EXPECT_TRUE(ledger.find(kSecond)->seen);
  EXPECT_FALSE(parts.tells_who_is_left(kFirst));
  EXPECT_TRUE(parts.tells_who_is_left(kSecond));
}

TEST_F(DevicesTest, AListThatIsMissingOnceTellsNothingOfWhoIsLeft) {
  DeviceSample unlisted = sampled(kFirst, 0);
  unlisted.processes.reset();
  sample({unlisted});
  EXPECT_TRUE(parts.tells_who_is_left(kFirst)) << "it never lists, and nothing is waited for";
  sample({sampled(kFirst, 0)});
  sample({unlisted});
  EXPECT_FALSE(parts.tells_who_is_left(kFirst));
}

TEST_F(DevicesTest, ADriverInTroubleChangesNothing) {
  sample({sampled(kFirst, 0)});
  Sample trouble;
  trouble.trouble = "no driver";
  EXPECT_FALSE(parts.hear(trouble));
  EXPECT_EQ(parts.trouble(), "no driver");
  EXPECT_TRUE(ledger.find(kFirst)->seen);
}

TEST_F(DevicesTest, DevicesAreNamedByIndexOrIdentityAndOnce) {
  sample({sampled(kFirst, 0), sampled(kSecond, 1)});
  const auto both = parts.named({DeviceName{1U}, DeviceName{kFirst}});
  EXPECT_EQ(std::get<std::vector<DeviceId>>(both), (std::vector{kSecond, kFirst}));
  const auto twice = parts.named({DeviceName{0U}, DeviceName{kFirst}});
  EXPECT_EQ(std::get<Refusal>(twice).code, RefusalCode::kInvalid);
  const auto absent = parts.named({DeviceName{2U}});
  EXPECT_EQ(std::get<Refusal>(absent).code, RefusalCode::kNoDevice);
}

TEST_F(DevicesTest, AContextCostsWhatWasMeasuredOrElseTheEstimate) {
  EXPECT_EQ(parts.context_cost({1000}, kFirst), mib(300));
  Sample measured;
  measured.contexts = {{.user = {1000}, .device = kFirst, .cost = mib(420)}};
  parts.hear(measured);
  EXPECT_EQ(parts.context_cost({1000}, kFirst), mib(420));
  EXPECT_EQ(parts.context_cost({1001}, kFirst), mib(300)) << "another user's is not known";
}

TEST_F(DevicesTest, ALostDeviceDegradesTheLeasesThatAreChargedThereAndSaysSoOnce) {
  sample({sampled(kFirst, 0)});
  const LeaseId id = core.queue({.vram = gib(1)});
  core.run(id, kFirst);
  ledger.put(kFirst, id, Entry{.budget = gib(1), .charge = gib(1)});
  core.take_effects();
  sample({});
  sample({});
  EXPECT_TRUE(parts.is_degraded(id));
  EXPECT_EQ(core.take_effects().size(), 1U);
  sample({sampled(kFirst, 0)});
  EXPECT_FALSE(parts.is_degraded(id));
}

TEST_F(DevicesTest, AReserveOfItsOwnIsKeptWhenTheSettingsChange) {
  sample({sampled(kFirst, 0), sampled(kSecond, 1)});
  core.set({.reserve = gib(1), .device_reserve = {{kSecond, gib(2)}}});
  parts.keep_reserves();
  EXPECT_EQ(ledger.find(kFirst)->reserve, gib(1));
  EXPECT_EQ(ledger.find(kSecond)->reserve, gib(2));
}

}  // namespace
}  // namespace berth::core
