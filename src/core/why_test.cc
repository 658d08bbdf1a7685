// SPDX-License-Identifier: Apache-2.0
// Never only «no»: what is missing, who holds it, until when, and what would help.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/coordinator.h"
#include "core/story.h"

namespace berth::core {
namespace {

using S = Story;

const Remedy* remedy(const WhyView& why, Remedy::Kind kind) {
  const auto found = std::ranges::find(why.remedies, kind, &Remedy::kind);
  return found == why.remedies.end() ? nullptr : &*found;
}

TEST(Why, SaysWhatIsMissingWhoHoldsItAndUntilWhen) {
  Story story({.order = Order::kFifo, .reserve = gib(1)});
  Request first = S::budget(gib(10));
  first.name = "train";
  first.eta = minutes(14);
  (void)story.ask(first);
  (void)story.claim(1);
  (void)story.ask(S::budget(gib(6)));
  (void)story.pass(minutes(4));
  const WhyView why = *story.coordinator.why({2}, story.now);
  EXPECT_EQ(why.reason, WhyView::Reason::kMemory);
  EXPECT_EQ(why.position, 1u);
  EXPECT_EQ(why.waited, minutes(4));
  ASSERT_EQ(why.shortages.size(), 1u);
  EXPECT_EQ(why.shortages[0].grantable, gib(5));
  EXPECT_EQ(why.shortages[0].missing, gib(1));
  ASSERT_EQ(why.holders.size(), 1u);
  EXPECT_EQ(why.holders[0].name, "train");
  EXPECT_EQ(why.expected_start, UnixMs{story.now.wall.value + minutes(10).ns / 1'000'000});
  ASSERT_NE(remedy(why, Remedy::Kind::kAskLess), nullptr);
  EXPECT_EQ(remedy(why, Remedy::Kind::kAskLess)->bytes, gib(5));
  EXPECT_EQ(remedy(why, Remedy::Kind::kPauseLease)->lease, LeaseId{1});
}

TEST(Why, ShrinkingAHolderToItsPeakIsOfferedWhereThatHelps) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(12)));
  (void)story.claim(1);
  story.use(1, gib(7));
  (void)story.sample();
  (void)story.ask(S::budget(gib(8)));
  const WhyView why = *story.coordinator.why({2}, story.now);
  ASSERT_NE(remedy(why, Remedy::Kind::kShrinkLease), nullptr);
  EXPECT_EQ(remedy(why, Remedy::Kind::kShrinkLease)->bytes, gib(7));
}

TEST(Why, AnotherDeviceIsNamedWhereItWouldFit) {
  Story story({.order = Order::kFifo, .reserve = {}}, {gib(16), gib(16)});
  Request zero = S::budget(gib(16));
  zero.devices = {std::uint32_t{0}};
  (void)story.ask(zero);
  (void)story.claim(1);
  (void)story.ask(zero);
  const WhyView why = *story.coordinator.why({2}, story.now);
  ASSERT_NE(remedy(why, Remedy::Kind::kOtherDevice), nullptr);
  EXPECT_EQ(remedy(why, Remedy::Kind::kOtherDevice)->device, device(1));
}

TEST(Why, WithoutKnownEndsNoStartIsPromised) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(1);
  (void)story.ask(S::budget(gib(10)));
  EXPECT_EQ(story.coordinator.why({2}, story.now)->expected_start, std::nullopt);
}

TEST(Why, AnEtaThatHasPassedDoubles) {
  Story story({.order = Order::kFifo, .reserve = {}});
  Request first = S::budget(gib(10));
  first.eta = minutes(10);
  (void)story.ask(first);
  (void)story.claim(1);
  (void)story.ask(S::budget(gib(10)));
  (void)story.pass(minutes(12));
  EXPECT_EQ(story.coordinator.why({2}, story.now)->expected_start,
            UnixMs{story.now.wall.value + minutes(8).ns / 1'000'000});
}

TEST(Why, TheThirdInTheQueueIsPromisedTheEndOfTheSecond) {
  Story story({.order = Order::kFifo, .reserve = {}});
  Request ten = S::budget(gib(16));
  ten.eta = minutes(10);
  for (int i = 0; i < 3; ++i) (void)story.ask(ten);
  (void)story.claim(1);
  EXPECT_EQ(story.coordinator.why({3}, story.now)->expected_start,
            UnixMs{story.now.wall.value + minutes(20).ns / 1'000'000});
  EXPECT_EQ(story.coordinator.why({3}, story.now)->ahead, std::vector<LeaseId>{{2}});
}

TEST(Why, MemoryThatIsOnItsWayBackIsNamedAsSuch) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(16)));
  (void)story.claim(1);
  story.use(1, gib(12));
  (void)story.sample();
  (void)story.ask(S::budget(gib(8)));
  (void)story.tell(ProcessEnded{S::process(1)});
  story.use(1, gib(12), 0, false);
  (void)story.sample();
  EXPECT_EQ(story.coordinator.why({2}, story.now)->reason, WhyView::Reason::kProbing);
}

TEST(Fit, AnswersWhatASubmissionWouldGet) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(10)));
  (void)story.claim(1);
  const auto fit = [&](const Request& request) {
    return std::get<FitView>(story.coordinator.fit(request, {{1000}}, story.now));
  };
  EXPECT_TRUE(fit(S::budget(gib(6))).fits);
  EXPECT_FALSE(fit(S::budget(gib(7))).fits);
  EXPECT_EQ(fit(S::budget(gib(7))).largest, gib(6));
  EXPECT_FALSE(fit(S::whole()).fits);
  (void)story.ask(S::budget(gib(12)));  // Waits, with a reservation.
  EXPECT_FALSE(fit(S::budget(gib(5))).fits);
  EXPECT_TRUE(fit(S::budget(gib(4))).fits);
  const auto refused = story.coordinator.fit(S::budget(gib(17)), {{1000}}, story.now);
  EXPECT_EQ(std::get<Refusal>(refused).code, RefusalCode::kNeverFits);
  EXPECT_EQ(story.coordinator.queue(story.now).size(), 1u);  // Asking holds no place.
}

TEST(Find, ByNumberHandleNameAndPrefix) {
  Story story;
  Request named = S::budget(gib(1));
  named.name = "train-gpt2";
  (void)story.ask(named);
  named.name = "train-bert";
  (void)story.ask(named);
  const auto find = [&](std::string_view text) { return story.coordinator.find(text, {{1000}}); };
  EXPECT_EQ(std::get<LeaseId>(find("1")), LeaseId{1});
  EXPECT_EQ(std::get<LeaseId>(find("train-gpt2")), LeaseId{1});
  EXPECT_EQ(std::get<LeaseId>(find("train-b")), LeaseId{2});
  EXPECT_EQ(std::get<LeaseId>(find(to_text(Handle{0, 2}))), LeaseId{2});
  EXPECT_EQ(std::get<Refusal>(find("train")).code, RefusalCode::kAmbiguous);
  EXPECT_EQ(std::get<Refusal>(find("tr")).code, RefusalCode::kNotFound);
  EXPECT_EQ(std::get<Refusal>(find("12")).code, RefusalCode::kNotFound);
  EXPECT_EQ(std::get<Refusal>(find("99999999999999999999")).code, RefusalCode::kNotFound);
}

}  // namespace
}  // namespace berth::core
