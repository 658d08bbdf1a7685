// SPDX-License-Identifier: Apache-2.0
#include "server/context_costs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace berth::server {
namespace {

constexpr DeviceId kMeasuredCard = {1, 2};
constexpr DeviceId kMeasuredTwin = {1, 3};  // Of the same model.
constexpr Handle kLease = {5, 5};
constexpr UserId kAlice = {1001};
constexpr UserId kBob = {1002};
constexpr Process kOne = {.pid = 101, .start_ticks = 7};
constexpr Process kTwo = {.pid = 102, .start_ticks = 8};

class ContextCostsTest : public ::testing::Test {
 protected:
  static ContextLook process(Process process, Bytes beside = {}) {
    return {.lease = kLease,
            .user = kAlice,
            .device = kMeasuredCard,
            .process = process,
            .context = mib(512),
            .beside = beside,
            .changes = 3,
            .exact = true,
            .unchanged = true};
  }
  /// The driver counts so much of each process, in the order of `looks`.
  void look(const std::vector<ContextLook>& looks, const std::vector<Bytes>& measured) {
    Sample sample;
    sample.driver_version = driver_;
    for (const DeviceId id : {kMeasuredCard, kMeasuredTwin}) {
      DeviceSample& device = sample.devices.emplace_back();
      device.id = id;
      device.model = model_;
      device.processes.emplace();
      for (std::size_t i = 0; id == kMeasuredCard && i < looks.size(); ++i) {
        ProcessSample& listed = device.processes->emplace_back();
        listed.process = looks[i].process;
        listed.used = measured[i];
      }
    }
    costs_.look(sample, looks);
  }
  void look_twice(const std::vector<ContextLook>& looks, const std::vector<Bytes>& measured) {
    look(looks, measured);
    look(looks, measured);
  }

  ContextCosts costs_;
  std::string driver_ = "575.1";
  std::string model_ = "A card";
};

TEST_F(ContextCostsTest, AUserWhoHasShownItIsToldWithTheDevices) {
  look_twice({process(kOne)}, {mib(400)});
  Sample sample;
  sample.devices.resize(2);
  sample.devices[0].id = kMeasuredCard;
  sample.devices[1].id = kMeasuredTwin;
  const auto told = [&] {
    std::string text;
    for (const ContextSample& known : costs_.on(sample)) {
      text +=
          std::to_string(known.user.value) + ": " + std::to_string(known.cost.value >> 20U) + "; ";
    }
    return text;
  };
  EXPECT_EQ(told(), "1001: 400; 1001: 400; ");  // They sleep: neither driver nor model is told.
  sample.driver_version = driver_;
  sample.devices[0].model = "Another";
  EXPECT_EQ(told(), "1001: 400; ");
  sample.driver_version = "580.1";
  EXPECT_EQ(told(), "");
}

TEST_F(ContextCostsTest, NothingIsKnownBeforeAProcessWasSeenTwiceAsItWas) {
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), std::nullopt);
  look({process(kOne)}, {mib(300)});
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), std::nullopt);
  look({process(kOne)}, {mib(302)});
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), std::nullopt);
  look({process(kOne)}, {mib(302)});
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), mib(302));
  EXPECT_EQ(costs_.most(kLease, kMeasuredCard), mib(302));
}

TEST_F(ContextCostsTest, WhatIsChargedBesideIsTakenOffAndTheRestIsOfWholePages) {
  look_twice({process(kOne, gib(1))}, {gib(1) + mib(299)});
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), mib(300));
}

TEST_F(ContextCostsTest, ADeviceOfTheSameModelIsKnownToo) {
  look_twice({process(kOne)}, {mib(300)});
  EXPECT_EQ(costs_.of(kAlice, kMeasuredTwin), mib(300));
  EXPECT_EQ(costs_.of(kAlice, {9, 9}), std::nullopt);
}

// Users are witnesses for their own processes: what they write into their file harms nobody else.
TEST_F(ContextCostsTest, WhatOneUsersProcessesShowIsNotToldToAnother) {
  ContextLook bobs = process(kTwo);
  bobs.user = kBob;
  bobs.lease = {6, 6};
  look_twice({process(kOne), bobs}, {mib(300), mib(1000)});
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), mib(300));
  EXPECT_EQ(costs_.of(kBob, kMeasuredCard), mib(1000));
  EXPECT_EQ(costs_.of({1003}, kMeasuredCard), std::nullopt);
  ContextCosts again;
  ASSERT_TRUE(again.recall(costs_.to_text(), {1003}).ok());
  EXPECT_EQ(again.to_text(), costs_.to_text());
}

TEST_F(ContextCostsTest, WhatAnEarlierReleaseKeptIsBelievedOfTheUserOfTheDaemon) {
  ASSERT_TRUE(costs_.recall("berth contexts 1\n104857600\t575.1\tA card\n", kBob).ok());
  look({}, {});
  EXPECT_EQ(costs_.of(kBob, kMeasuredCard), mib(100));
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), std::nullopt);
  EXPECT_EQ(costs_.to_text(), "berth contexts 2\n104857600\t1002\t575.1\tA card\n");
}

TEST_F(ContextCostsTest, AnotherDriverIsLearntAnew) {
  look_twice({process(kOne)}, {mib(300)});
  driver_ = "580.2";
  look({process(kOne)}, {mib(400)});
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), std::nullopt);
  look({process(kOne)}, {mib(400)});
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), mib(400));
}

TEST_F(ContextCostsTest, UnderADriverThatComesBackItIsKnownAsItWas) {
  look_twice({process(kOne)}, {mib(300)});
  driver_ = "580.2";
  look_twice({process(kOne)}, {mib(400)});
  driver_ = "575.1";
  look({}, {});
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), mib(300));
}

TEST_F(ContextCostsTest, OfADeviceThatDoesNotTellItsModelNothingIsKnown) {
  model_ = "";
  look_twice({process(kOne)}, {mib(300)});
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), std::nullopt);
  EXPECT_EQ(costs_.most(kLease, kMeasuredCard), mib(300));
}

TEST_F(ContextCostsTest, TheLeastOfEachModelIsKeptAndRecalled) {
  look_twice({process(kOne), process(kTwo)}, {mib(450), mib(300)});
  driver_ = "580.2";
  look_twice({process(kOne)}, {mib(400)});
  const std::string text = costs_.to_text();
  EXPECT_EQ(text,
            "berth contexts 2\n314572800\t1001\t575.1\tA card\n"
            "419430400\t1001\t580.2\tA card\n");
  ContextCosts again;
  EXPECT_TRUE(again.recall(text, kBob).ok());
  EXPECT_EQ(again.to_text(), text);
  costs_ = again;
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard),
            std::nullopt);  // Which model it is, is not known yet.
  look({}, {});
  EXPECT_EQ(costs_.of(kAlice, kMeasuredTwin), mib(400));
  EXPECT_EQ(costs_.most(kLease, kMeasuredCard), std::nullopt);  // That is its own contexts'.
}

TEST_F(ContextCostsTest, WhatIsRecalledGoesWhenAsManyAsAreRememberedWereMeasured) {
  ASSERT_TRUE(costs_.recall("berth contexts 2\n104857600\t1001\t575.1\tA card\n", kBob).ok());
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(ContextCosts::kRemembered); ++i) {
    look({}, {});
    EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), mib(100));
    look_twice({process({.pid = 200 + i, .start_ticks = 1})}, {mib(300)});
  }
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), mib(300));
}

TEST_F(ContextCostsTest, WhatCannotBeReadIsPassedOverAndSaid) {
  for (const char* text : {"", "berth contexts 3\n", "104857600\t1001\t575.1\tA card\n"}) {
    EXPECT_FALSE(costs_.recall(text, kBob).ok()) << text;
  }
  for (const char* line :
       {"many\t1\t575.1\tA card", "\t1\t575.1\tA card", "0\t1\t575.1\tA card",
        "104857601\t1\t575.1\tA card", "1075838976\t1\t575.1\tA card", "104857600\t1\tA card",
        "104857600\t1\t\tA card", "104857600\t1\t575.1\t", "104857600\t1\t575.1\tA\tcard",
        "104857600 1 575.1 A card", "104857600\tx\t575.1\tA card", "104857600\t\t575.1\tA card",
        "104857600\t4294967296\t575.1\tA card", "104857600", "104857600\t1"}) {
    const std::string text = std::string("berth contexts 2\n") + line + "\n";
    EXPECT_FALSE(costs_.recall(text, kBob).ok()) << line;
  }
  const Status half =
      costs_.recall("berth contexts 2\n104857600\t1001\t575.1\tA card\nnothing\n", kBob);
  EXPECT_FALSE(half.ok());
  look({}, {});
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), mib(100));
}

TEST_F(ContextCostsTest, ModelsHaveABoundAndThoseOfOtherDriversGoFirst) {
  std::string text = "berth contexts 2\n";
  const auto add_models_of = [&](const std::string& driver) {
    for (std::size_t i = 0; i < ContextCosts::kModelsMax; ++i) {
      text += "104857600\t1001\t" + driver + "\tCard " + std::to_string(i) + '\n';
    }
  };
  add_models_of("400.1");
  add_models_of("400.2");
  ASSERT_TRUE(costs_.recall(text, kBob).ok());
  for (std::size_t i = 0; i < ContextCosts::kModelsMax; ++i) {
    model_ = i == 0 ? "A card" : "Another card " + std::to_string(i);
    look_twice({process(kOne)}, {mib(300)});
  }
  model_ = "A card";
  look({}, {});
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), mib(300));
  const std::string kept = costs_.to_text();
  EXPECT_EQ(std::ranges::count(kept, '\n'), ContextCosts::kModelsMax + 1);
  EXPECT_EQ(kept.find("400."), std::string::npos);
}

TEST_F(ContextCostsTest, OneUsersManyModelsTakeNothingFromAnother) {
  look_twice({process(kOne)}, {mib(300)});
  std::string text = "berth contexts 2\n";
  for (std::size_t i = 0; i < ContextCosts::kModelsMax + 10; ++i) {
    text += "104857600\t1002\t575.1\tCard " + std::to_string(i) + '\n';
  }
  ASSERT_TRUE(costs_.recall(text, kBob).ok());
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), mib(300));
}

TEST_F(ContextCostsTest, WhatNoLineCanHoldIsNotKept) {
  model_ = "A\ncard";
  look_twice({process(kOne)}, {mib(300)});
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), mib(300));
  model_ = std::string(1000, 'x');
  look_twice({process(kOne)}, {mib(300)});
  EXPECT_EQ(costs_.to_text(), "berth contexts 2\n");
}

TEST_F(ContextCostsTest, AProcessThatChangedMeanwhileIsNoWitness) {
  ContextLook busy = process(kOne);
  busy.unchanged = false;
  look_twice({busy}, {mib(300)});
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), std::nullopt);
  look({process(kOne)}, {mib(300)});
  ContextLook changed = process(kOne);
  changed.changes = 4;
  look({changed}, {mib(300)});
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), std::nullopt);
}

TEST_F(ContextCostsTest, NorIsOneThatMayHaveChargedTooMuchBeside) {
  ContextLook managed = process(kOne, gib(1));
  managed.exact = false;
  look_twice({managed}, {gib(1) + mib(100)});
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), std::nullopt);
  EXPECT_EQ(costs_.most(kLease, kMeasuredCard), std::nullopt);
}

TEST_F(ContextCostsTest, NorIsOneOfWhichTheDriverTellsLessThanItCharged) {
  look_twice({process(kOne, gib(1))}, {mib(900)});
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), std::nullopt);
}

TEST_F(ContextCostsTest, WhatIsTooMuchForAContextIsNone) {
  look_twice({process(kOne)}, {gib(1) + mib(2)});
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), std::nullopt);
  EXPECT_EQ(costs_.most(kLease, kMeasuredCard), std::nullopt);
}

TEST_F(ContextCostsTest, TheLeastOfSeveralIsAContextsCostAndTheMostOfALeaseIsItsOwn) {
  look_twice({process(kOne), process(kTwo)}, {mib(450), mib(300)});
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), mib(300));
  EXPECT_EQ(costs_.most(kLease, kMeasuredCard), mib(450));
  EXPECT_EQ(costs_.most({6, 6}, kMeasuredCard), std::nullopt);
  EXPECT_EQ(costs_.most(kLease, kMeasuredTwin), std::nullopt);
}

TEST_F(ContextCostsTest, OfALeaseWithAProcessThatWasNotMeasuredNothingIsKnown) {
  look_twice({process(kOne)}, {mib(300)});
  look({process(kOne), process(kTwo)}, {mib(300), mib(300)});
  EXPECT_EQ(costs_.most(kLease, kMeasuredCard), std::nullopt);
  look({process(kOne)}, {mib(300)});
  EXPECT_EQ(costs_.most(kLease, kMeasuredCard), mib(300));
}

TEST_F(ContextCostsTest, OnlyTheLastProcessesAreRemembered) {
  for (std::int32_t i = 0; i <= static_cast<std::int32_t>(ContextCosts::kRemembered); ++i) {
    look_twice({process({.pid = 200 + i, .start_ticks = 1})}, {i == 0 ? mib(100) : mib(300)});
  }
  EXPECT_EQ(costs_.of(kAlice, kMeasuredCard), mib(300));
}

}  // namespace
}  // namespace berth::server
