// SPDX-License-Identifier: Apache-2.0
#include "cli/run/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "cli/run/options.h"

namespace berth::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;
using Kind = config::DefaultVram::Kind;

Request planned(const RequestOptions& options, const config::Config& config = {}) {
  const Result<RequestPlan> plan = plan_request(options, config);
  EXPECT_TRUE(plan.ok()) << plan.error().message;
  return plan.ok() ? plan->request : Request{};
}
std::string refused(const RequestOptions& options, const config::Config& config = {}) {
  const Result<RequestPlan> plan = plan_request(options, config);
  return plan.ok() ? "" : plan.error().message;
}
config::Config with_default(config::DefaultVram vram) {
  config::Config config;
  config.policy.default_vram = vram;
  return config;
}

TEST(PlanRequest, WithoutASizeItIsAWholeGpuAndThatIsSaid) {
  const Result<RequestPlan> plan = plan_request({}, {});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->request.share, Share::kExclusive);
  EXPECT_EQ(plan->request.vram, Bytes{});
  EXPECT_THAT(plan->about_default, HasSubstr("default_vram = \"exclusive\""));
}

TEST(PlanRequest, DefaultMayBeASizeOrAQuestion) {
  const Result<RequestPlan> plan = plan_request({}, with_default({Kind::kSize, gib(4)}));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->request.share, Share::kBudget);
  EXPECT_EQ(plan->request.vram, gib(4));
  EXPECT_THAT(plan->about_default, HasSubstr("4.0 GiB"));
  EXPECT_THAT(refused({}, with_default({Kind::kAsk, {}})), HasSubstr("-m SIZE"));
}

TEST(PlanRequest, AutoIsWhatWasLearnedAndElseAWholeGpu) {
  const Result<RequestPlan> plan =
      plan_request({.learned = true}, with_default({Kind::kSize, gib(4)}));
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->request.learned);
  EXPECT_EQ(plan->request.share, Share::kExclusive);
  EXPECT_THAT(plan->about_default, HasSubstr("-m auto: asking for what earlier runs"));
  EXPECT_THAT(refused({.learned = true, .exclusive = true}), HasSubstr("leave out -x"));
  EXPECT_THAT(refused({.learned = true, .share = "slice"}), HasSubstr("leave out --share slice"));
}

TEST(PlanRequest, ProjectsDefaultStandsBeforeTheMachines) {
  config::Config config = with_default({Kind::kAsk, {}});
  config.request.vram = config::DefaultVram{Kind::kSize, gib(2)};
  EXPECT_EQ(planned({}, config).vram, gib(2));
}

TEST(PlanRequest, WhatIsAskedForNeedsNoDefaultAndNoWord) {
  const Result<RequestPlan> plan = plan_request({.vram = gib(8)}, with_default({Kind::kAsk, {}}));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->request.vram, gib(8));
  EXPECT_EQ(plan->request.share, Share::kBudget);
  EXPECT_THAT(plan->about_default, IsEmpty());
  EXPECT_EQ(planned({.exclusive = true}).share, Share::kExclusive);
  EXPECT_EQ(planned({.share = "exclusive"}).share, Share::kExclusive);
  EXPECT_EQ(planned({.vram = gib(1), .share = "budget"}).share, Share::kBudget);
  EXPECT_EQ(planned({.vram = gib(1), .share = "slice"}).share, Share::kSlice);
}

TEST(PlanRequest, ContradictionsNameTheOptions) {
  EXPECT_THAT(refused({.vram = gib(1), .exclusive = true}), HasSubstr("-m"));
  EXPECT_THAT(refused({.vram = gib(1), .share = "exclusive"}), HasSubstr("-m"));
  EXPECT_THAT(refused({.exclusive = true, .share = "budget"}), HasSubstr("--share budget"));
  EXPECT_THAT(refused({.share = "budget"}), HasSubstr("-m SIZE"));
  EXPECT_THAT(refused({.share = "slice"}), HasSubstr("--share slice needs a size"));
  EXPECT_THAT(refused({.exclusive = true, .share = "slice"}), HasSubstr("exclude each other"));
  EXPECT_THAT(refused({.vram = Bytes{0}}), HasSubstr("-m 0"));
  EXPECT_THAT(refused({.wait = true, .no_wait = true}), HasSubstr("--no-wait"));
  EXPECT_THAT(refused({.labels = {"novalue"}}), HasSubstr("KEY=VALUE"));
  EXPECT_THAT(refused({.labels = {"=x"}}), HasSubstr("KEY=VALUE"));
}

TEST(PlanRequest, WaitIsWithoutBoundUnlessSaidOtherwise) {
  config::Config config;
  EXPECT_EQ(planned({}, config).wait_max, std::nullopt);
  EXPECT_EQ(planned({.no_wait = true}, config).wait_max, Duration{});
  EXPECT_EQ(planned({.wait = true, .wait_max = minutes(5)}, config).wait_max, minutes(5));
  config.request.wait = minutes(10);
  EXPECT_EQ(planned({}, config).wait_max, minutes(10));
  EXPECT_EQ(planned({.wait = true}, config).wait_max, std::nullopt) << "--wait alone: for ever";
}

TEST(PlanRequest, OptionsStandAboveTheProject) {
  config::Config config;
  config.request.name = "project";
  config.request.eta = minutes(1);
  config.request.labels = {{"team", "a"}, {"kind", "train"}};
  EXPECT_EQ(planned({}, config).name, "project");
  EXPECT_EQ(planned({}, config).eta, minutes(1));
  const Request request =
      planned({.eta = minutes(2), .name = "mine", .labels = {"team=b", "x=a=b"}}, config);
  EXPECT_EQ(request.name, "mine");
  EXPECT_EQ(request.eta, minutes(2));
  EXPECT_THAT(request.labels,
              UnorderedElementsAre(Pair("team", "b"), Pair("kind", "train"), Pair("x", "a=b")));
}

TEST(PlanRequest, TheRestIsCarriedOver) {
  const Request request = planned({.priority = Priority::kHigh,
                                   .limit = hours(1),
                                   .session = "me",
                                   .carried = {.mixed = true, .leftovers = Leftovers::kKill}});
  EXPECT_EQ(request.priority, Priority::kHigh);
  EXPECT_EQ(request.limit, hours(1));
  EXPECT_EQ(request.session, "me");
  EXPECT_EQ(request.leftovers, Leftovers::kKill);
  EXPECT_TRUE(request.mixed);
}

TEST(PlanRequest, WhatAnOptionOfTheTableSaysIsCarriedOver) {
  int count = 0;
  for_each_field<Request, side::kBody>([&](auto at) {
    constexpr const auto& kField = decltype(at)::kField;
    if constexpr (!kField.typed.name.empty()) {
      RequestOptions said;
      Options options;
      constexpr bool kIsOfReservations = kField.typed.with == FieldOption::With::kReservations;
      declare_carried(options, said.carried,
                      kIsOfReservations ? Carried::kWithoutACommand : Carried::kWithACommand);
      std::vector<std::string> words = {std::string(kField.typed.name)};
      const auto is_it = [&](const Option& option) { return option.shown() == words[0]; };
      const auto option = std::ranges::find_if(options.all(), is_it);
      ASSERT_NE(option, options.all().end());
      constexpr bool kIsTime =
          std::is_same_v<std::remove_cvref_t<decltype(kField.place.get(Request{}))>, Duration>;
      if (!option->choices.empty()) {
        words.emplace_back(option->choices.back());
      } else if (option->value == Option::Value::kNeeded) {
        words.emplace_back(kIsTime ? "3s" : "3");
      }
      const Status status = options.parse(words);
      ASSERT_TRUE(status.ok()) << status.error().message;
      const Request request = planned(said);
      EXPECT_FALSE(kField.place.get(request) == kField.place.get(Request{})) << words[0];
      ++count;
    }
  });
  EXPECT_GE(count, 2);
}

TEST(PlanRequest, OptionsForACommandOrAReservationAreOfVerbsThatAskForOne) {
  Request request;
  Options with;
  Options without;
  declare_carried(with, request, Carried::kWithACommand);
  declare_carried(without, request, Carried::kWithoutACommand);
  const auto has = [](const Options& options, std::string_view name) {
    return std::ranges::any_of(options.all(),
                               [&](const Option& each) { return each.shown() == name; });
  };
  EXPECT_TRUE(has(with, "--yield"));
  EXPECT_FALSE(has(without, "--yield"));
  EXPECT_FALSE(has(with, "--while-used"));
  EXPECT_TRUE(has(without, "--while-used"));
}

TEST(CommandText, ReadsBackAsTheSameWords) {
  EXPECT_EQ(command_text({"python", "train.py", "--lr=1e-3"}), "python train.py --lr=1e-3");
  EXPECT_EQ(command_text({"sh", "-c", "echo 'a b' > $X", ""}),
            R"(sh -c 'echo '\''a b'\'' > $X' '')");
}

TEST(CommandText, WhatAShellWouldTouchIsQuoted) {
  for (const char letter : std::string_view(" \t$*?!#&|;<>(){}[]~`\"\\")) {
    const std::string word = std::string("a") + letter + "b";
    EXPECT_EQ(command_text({"x", word}), "x '" + word + "'");
  }
  EXPECT_EQ(command_text({"it's", ""}), "'it'\\''s' ''");
}

TEST(CommandText, VeryLongOneIsShortened) {
  const std::string text = command_text({"python", "-c", std::string(1'000'000, 'x')});
  EXPECT_EQ(text.size(), 4'096);
  EXPECT_TRUE(text.ends_with("x..."));
}

}  // namespace
}  // namespace berth::cli
