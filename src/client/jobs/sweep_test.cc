// SPDX-License-Identifier: Apache-2.0
#include "jobs/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;

TEST(Each, ALineIsAnItemOrAnObject) {
  EXPECT_THAT(*parameters_of("a b"), ElementsAre(Pair("item", "a b")));
  EXPECT_THAT(*parameters_of(R"({"lr":1e-3,"name":"a \"b\"","on":true,"none":null})"),
              ElementsAre(Pair("lr", "1e-3"), Pair("name", "a \"b\""), Pair("on", "true"),
                          Pair("none", "")));
  EXPECT_THAT(*parameters_of("{}"), ElementsAre());
}

TEST(Each, AnObjectThatIsNoneIsRefused) {
  EXPECT_FALSE(parameters_of("{\"a\":1").ok());
  EXPECT_FALSE(parameters_of("{\"a\":1,\"a\":2}").ok());
  EXPECT_THAT(parameters_of(R"({"a":[1]})").error().message,
              HasSubstr("\"a\" is neither a text nor a number"));
  EXPECT_THAT(parameters_of(R"({"a b":1})").error().message, HasSubstr("letters, digits and _"));
  EXPECT_FALSE(parameters_of(R"({"a":"\u0000"})").ok());
}

TEST(Each, EmptyLinesAreNoMembersAndTheWrongOneIsNamed) {
  EXPECT_THAT(*lines_of_each("a\n\nb\r\n"), ElementsAre("a", "b"));
  EXPECT_THAT(*lines_of_each("a"), ElementsAre("a"));
  EXPECT_FALSE(lines_of_each("\n\n").ok());
  EXPECT_THAT(lines_of_each("a\n\n{\n").error().message, HasSubstr("line 3: "));
}

TEST(Grid, HasEveryCombinationTheLastAxisFastest) {
  EXPECT_THAT(*lines_of_grid({"lr=1e-3,3e-4", "width=256,512"}),
              ElementsAre(R"({"lr":"1e-3","width":"256"})", R"({"lr":"1e-3","width":"512"})",
                          R"({"lr":"3e-4","width":"256"})", R"({"lr":"3e-4","width":"512"})"));
  EXPECT_THAT(*lines_of_grid({"a=1,2,3,4,5", "b=1,2,3", "c=1,2,3,4"}), SizeIs(60));
}

TEST(Grid, AxesThatAreNoneAreRefused) {
  EXPECT_THAT(lines_of_grid({"lr"}).error().message, HasSubstr("is not NAME=A,B,..."));
  EXPECT_FALSE(lines_of_grid({"=1"}).ok());
  EXPECT_THAT(lines_of_grid({"lr=1,,2"}).error().message, HasSubstr("a value that is empty"));
  EXPECT_THAT(lines_of_grid({"lr=1", "lr=2"}).error().message, HasSubstr("names lr twice"));
  std::string many = "a=0";
  for (int i = 1; i < 400; ++i) many += "," + std::to_string(i);
  EXPECT_FALSE(lines_of_grid({many, "b" + many.substr(1)}).ok());
}

TEST(FilledIn, WhereTheNameExistsAndNowhereElse) {
  const Parameters parameters = {{"lr", "1e-3"}, {"name", "{lr}"}};
  EXPECT_EQ(filled_in("--lr={lr} {name}", parameters), "--lr=1e-3 {lr}");
  EXPECT_EQ(filled_in("{\"a\":{}} {other} {", parameters), "{\"a\":{}} {other} {");
  EXPECT_EQ(filled_in("{{lr}}", parameters), "{1e-3}");
  EXPECT_EQ(filled_in("", parameters), "");
}

TEST(Variables, TellTheMemberWhatItIs) {
  EXPECT_THAT(variables_of("{}", {{"lr", "1"}}, 3),
              ElementsAre("BERTH_ITEM={}", "BERTH_MEMBER=3", "BERTH_EACH_LR=1"));
}

TEST(Seed, FollowsFromItsParametersAndNothingElse) {
  const Parameters here = {{"lr", "1"}, {"width", "2"}};
  const Parameters there = {{"width", "2"}, {"lr", "1"}};
  EXPECT_EQ(seed_of(42, here), seed_of(42, there));
  EXPECT_EQ(seed_of(42, here), 489640276U) << "kept: sweeps are resumed by later releases";
  EXPECT_NE(seed_of(42, here), seed_of(43, here));
  EXPECT_NE(seed_of(42, here), seed_of(42, {{"lr", "2"}, {"width", "1"}}));
  EXPECT_NE(seed_of(42, {{"a", "bc"}}), seed_of(42, {{"ab", "c"}}));
  EXPECT_LT(seed_of(1, {{"item", "x"}}), 1U << 31U);
}

}  // namespace
}  // namespace berth::jobs
