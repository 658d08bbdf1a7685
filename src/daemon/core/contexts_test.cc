// SPDX-License-Identifier: Apache-2.0
// No budget is granted in which not even a CUDA context fits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;
using ::testing::HasSubstr;

constexpr UserId kOther{1001};

struct Contexts : testing::Test {
  /// A context was measured to cost this user so much on that device.
  std::string measured(UserId user, std::size_t at, Bytes cost) {
    Sample sample{story.now.instant, story.now.instant, true, "", "", story.hardware};
    sample.contexts = {{.user = user, .device = device(at), .cost = cost}};
    return story.feed(Sampled{sample});
  }
  std::string resize(std::uint64_t lease, Bytes vram) {
    return story.feed(Resize{{++token}, {{1000}}, {lease}, {Share::kBudget, vram, std::nullopt}});
  }
  FitView fit(Bytes vram) const {
    const auto view = story.coordinator.fit(S::budget(vram), {.user = {1000}}, story.now);
    const auto* fits = std::get_if<FitView>(&view);
    return fits == nullptr ? FitView{} : *fits;
  }

  Story story{{.order = Order::kFifo, .reserve = {}, .context_estimate = mib(512)},
              {gib(16), gib(16)}};
  std::uint64_t token = 100;
};

TEST_F(Contexts, ABudgetBelowOneIsRefusedWithTheLeastThatMakesSense) {
  EXPECT_EQ(story.ask(S::budget({8})), "refuse invalid; ");
  EXPECT_EQ(story.refusal(),
            "8 B is below what a CUDA context alone takes here before the first allocation, about "
            "512 MiB: ask for at least 512M");
  EXPECT_EQ(story.ask(S::budget({mib(512).value - 1})), "refuse invalid; ");
  EXPECT_EQ(story.ask(S::budget(mib(512))), "held 1; ");
  EXPECT_FALSE(fit(mib(511)).fits);
  EXPECT_TRUE(fit(mib(512)).fits);
}

TEST_F(Contexts, WhatWasMeasuredOfTheUserCounts) {
  (void)measured({1000}, 0, {mib(96).value + 1});
  EXPECT_EQ(story.ask(S::budget(mib(96))), "refuse invalid; ");
  EXPECT_THAT(story.refusal(), HasSubstr("ask for at least 97M"));
  EXPECT_EQ(story.ask(S::budget(mib(100))), "held 1; ");
  EXPECT_EQ(story.coordinator.context_cost({1000}, device(0)), Bytes{mib(96).value + 1});
  // Neither of others, nor where it was not measured.
  EXPECT_EQ(story.ask(S::budget(mib(100)), kOther.value), "refuse invalid; ");
  EXPECT_EQ(story.coordinator.context_cost({1000}, device(1)), mib(512));
  Request there = S::budget(mib(100));
  there.devices = {DeviceName(1U)};
  EXPECT_EQ(story.ask(there), "refuse invalid; ");
}

TEST_F(Contexts, AResizeKeepsRoomForOneOnEachDevice) {
  (void)story.ask(S::budget(gib(4)));
  (void)story.claim(1);
  EXPECT_EQ(resize(1, mib(511)), "refuse invalid; ");
  EXPECT_THAT(story.refusal(), HasSubstr("ask for at least 512M"));
  (void)measured({1000}, 0, mib(96));
  EXPECT_THAT(resize(1, mib(100)), HasSubstr("held 1; "));
}

TEST_F(Contexts, AWholeGpuNeedsNone) {
  EXPECT_EQ(story.ask(S::whole()), "held 1; ");
}

TEST_F(Contexts, WhatWasAskedBeforeTheFirstSampleIsLookedAtThen) {
  Coordinator coordinator({.order = Order::kFifo, .context_estimate = mib(512)});
  std::swap(story.coordinator, coordinator);
  (void)story.feed(Recovered{});
  EXPECT_EQ(story.ask(S::budget(mib(100))), "waiting 1; ");
  EXPECT_EQ(story.sample(), "end 1; ");
  EXPECT_EQ(story.coordinator.lease({1}, story.now)->result, EndResult::kRefused);
}

}  // namespace
}  // namespace berth::core
