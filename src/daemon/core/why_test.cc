// SPDX-License-Identifier: Apache-2.0
// Never only «no»: what is missing, who holds it, until when, and what would help.
#include <gtest/gtest.h>

#include "core/coordinator.h"
#include "core/story_for_test.h"

namespace berth::core {
namespace {

using S = Story;

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
  EXPECT_EQ(why.devices_wanted, 1u);
  EXPECT_EQ(why.devices_fitting, 0u);
}

TEST(Why, SeveralDevicesAreJudgedByThoseThatLackRoom) {
  Story story({.order = Order::kFifo, .reserve = {}}, std::vector<Bytes>(8, gib(80)));
  for (std::uint32_t i = 0; i < 5; ++i) {
    Request one = S::budget(gib(20));
    one.devices = {i};
    one.eta = minutes(10 * (std::int64_t{i} + 1));
    (void)story.ask(one);
    (void)story.claim(i + 1);
  }
  Request five = S::whole();
  five.device_count = 5;
  (void)story.ask(five);
  const WhyView why = *story.coordinator.why({6}, story.now);
  EXPECT_EQ(why.reason, WhyView::Reason::kExclusive);
  EXPECT_EQ(why.devices_wanted, 5u);
  EXPECT_EQ(why.devices_fitting, 3u);
  ASSERT_EQ(why.holders.size(), 2u);
  ASSERT_EQ(why.holders[0].devices.size(), 1u);
  EXPECT_EQ(why.holders[0].devices[0].device, why.shortages[3].device);
  EXPECT_EQ(why.holders[1].devices[0].device, why.shortages[4].device);
  EXPECT_EQ(why.expected_start, UnixMs{story.now.wall.value + minutes(20).ns / 1'000'000});
  EXPECT_EQ(why.check_again_after, kCheckAgainMost);
  EXPECT_EQ(story.coordinator.why({1}, story.now)->check_again_after, std::nullopt);
  five.wait_max = Duration{};
  (void)story.ask(five);
  EXPECT_EQ(story.refusal(),
            "3 of the 5 GPUs asked could be granted now; other leases are on GPU 0 (20.0 GiB)");
  Request six = S::budget(gib(70));
  six.device_count = 6;
  six.wait_max = Duration{};
  (void)story.ask(six);
  EXPECT_EQ(story.refusal(),
            "3 of the 6 GPUs asked could be granted now; GPU 0 can grant 60.0 GiB of the 70.0 GiB "
            "asked");
  const FitView fit = std::get<FitView>(story.coordinator.fit(six, {{1000}}, story.now));
  EXPECT_EQ(fit.devices_fitting, 3u);
  EXPECT_EQ(fit.largest, gib(60));
  EXPECT_EQ(fit.holders.size(), 3u);
  EXPECT_NE(fit.check_again_after, std::nullopt);
  const auto fits = story.coordinator.fit(S::budget(gib(1)), {{1000}}, story.now);
  EXPECT_EQ(std::get<FitView>(fits).check_again_after, std::nullopt) << "it would not wait";
}

TEST(Why, MoreDevicesThanThereAreAreCounted) {
  Story story({.order = Order::kFifo, .reserve = {}});
  Request two = S::budget(gib(1));
  two.device_count = 2;
  (void)story.ask(two);
  EXPECT_EQ(story.refusal(), "it asks for 2 GPUs, and this machine has 1");
}

// Nothing that happens by itself will let it start.
TEST(Why, ALimitThatWasLoweredIsNamedAndNoStartIsPromised) {
  Settings settings{.order = Order::kFifo, .reserve = {}};
  Story story(settings);
  Request first = S::budget(gib(16));
  first.eta = minutes(10);
  (void)story.ask(first);
  (void)story.claim(1);
  (void)story.ask(S::budget(gib(8)), 1001);
  settings.limits[{1001}] = {.vram_max = gib(4)};
  (void)story.feed(Configured{settings});
  WhyView why = *story.coordinator.why({2}, story.now);
  EXPECT_EQ(why.reason, WhyView::Reason::kAboveLimit);
  ASSERT_TRUE(why.limit.has_value());
  EXPECT_EQ(why.limit->kind, LoweredLimit::Kind::kVram);
  EXPECT_EQ(why.limit->allowed, gib(4).value);
  EXPECT_EQ(why.limit->asked, gib(8).value);
  EXPECT_EQ(why.expected_start, std::nullopt);

  settings.limits[{1001}] = {.leases_max = 0};
  (void)story.feed(Configured{settings});
  why = *story.coordinator.why({2}, story.now);
  EXPECT_EQ(why.reason, WhyView::Reason::kAboveLimit);
  EXPECT_EQ(why.limit->kind, LoweredLimit::Kind::kLeases);

  settings.limits.clear();
  settings.reserve = gib(9);
  (void)story.feed(Configured{settings});
  why = *story.coordinator.why({2}, story.now);
  EXPECT_EQ(why.reason, WhyView::Reason::kAboveLimit);
  EXPECT_EQ(why.limit->kind, LoweredLimit::Kind::kDevice);
  EXPECT_EQ(why.limit->allowed, gib(7).value);

  settings.reserve = {};
  (void)story.feed(Configured{settings});
  EXPECT_EQ(story.coordinator.why({2}, story.now)->reason, WhyView::Reason::kMemory);
}

TEST(Why, WhoHasAsMuchAsHeMayWaitsForTheEndsOfHisOwn) {
  Settings settings{.order = Order::kFifo, .reserve = {}};
  settings.limits_default.vram_max = gib(8);
  Story story(settings);
  Request first = S::budget(gib(6));
  first.eta = minutes(10);
  (void)story.ask(first);
  (void)story.claim(1);
  (void)story.ask(S::budget(gib(4)));
  const WhyView why = *story.coordinator.why({2}, story.now);
  EXPECT_EQ(why.reason, WhyView::Reason::kUserLimit);
  ASSERT_EQ(why.holders.size(), 1u);
  EXPECT_EQ(why.expected_start, UnixMs{story.now.wall.value + minutes(10).ns / 1'000'000});
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

// As whatever comes free is its first.
TEST(Why, WhoWaitsToGrowIsCountedAsGrown) {
  Story story({.order = Order::kFifo, .reserve = {}});
  for (const Duration eta : {minutes(10), minutes(20)}) {
    Request six = S::budget(gib(6));
    six.eta = eta;
    (void)story.ask(six);
    (void)story.claim(story.handles);
  }
  (void)story.feed(Resize{{99}, {{1000}}, {2}, {Share::kBudget, gib(12), minutes(60)}});
  (void)story.ask(S::budget(gib(5)));
  EXPECT_EQ(story.coordinator.why({3}, story.now)->expected_start,
            UnixMs{story.now.wall.value + minutes(20).ns / 1'000'000});
  (void)story.pass(minutes(10));
  (void)story.end(1);
  EXPECT_EQ(story.state(3), LeaseState::kWaiting);
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
  (void)story.feed(ProcessEnded{S::process(1)});
  story.use(1, gib(12), 0, false);
  (void)story.sample();
  EXPECT_EQ(story.coordinator.why({2}, story.now)->reason, WhyView::Reason::kProbing);
}

// Nobody knows when they end; that they run on without a lease does not free what they use.
TEST(Why, ProgramsThatRunOnWithoutALeaseAreNamedAndNoStartIsPromised) {
  Story story({.order = Order::kFifo, .reserve = {}});
  (void)story.ask(S::budget(gib(16)));
  (void)story.claim(1);
  story.use(1, gib(12));
  (void)story.sample();
  Request asked = S::budget(gib(8));
  (void)story.ask(asked);
  (void)story.feed(
      Release{.token = {9}, .actor = {{1000}}, .lease = {1}, .body = {.detach = true}});
  (void)story.second();
  ASSERT_EQ(story.state(1), LeaseState::kReleasing);
  EXPECT_EQ(story.coordinator.lease({1}, story.now)->expected_end, std::nullopt);
  const WhyView why = *story.coordinator.why({2}, story.now);
  EXPECT_EQ(why.reason, WhyView::Reason::kOutlived);
  EXPECT_EQ(why.expected_start, std::nullopt);
  ASSERT_EQ(why.holders.size(), 1u);
  EXPECT_TRUE(why.holders[0].has_ended);
  EXPECT_EQ(why.holders[0].charged, gib(12));
  EXPECT_EQ(why.holders[0].expected_end, std::nullopt);
  const FitView fit = std::get<FitView>(story.coordinator.fit(asked, {{1000}}, story.now));
  EXPECT_EQ(fit.expected_start, std::nullopt);
  ASSERT_EQ(fit.holders.size(), 1u);
  EXPECT_TRUE(fit.holders[0].has_ended);
  // What is left when they have ended is on its way back.
  (void)story.feed(ProcessEnded{S::process(1)});
  story.use(1, gib(12), 0, false);
  (void)story.second();
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

TEST(Find, ANameThatTwoLiveLeasesHaveMeansNoneOfThem) {
  Story story;
  Request named = S::budget(gib(1));
  named.name = "dup";
  (void)story.ask(named);
  (void)story.ask(named);
  named.name = "dup-b";
  (void)story.ask(named);
  const auto find = [&](Actor actor) { return story.coordinator.find("dup", actor); };
  const auto refused = find({{1000}});
  EXPECT_EQ(std::get<Refusal>(refused).code, RefusalCode::kAmbiguous);
  EXPECT_EQ(std::get<Refusal>(refused).message,
            "'dup' names several leases: 1, 2; say which number");
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
