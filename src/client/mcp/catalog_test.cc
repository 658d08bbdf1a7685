// SPDX-License-Identifier: Apache-2.0
#include "mcp/catalog.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mcp/connection_for_test.h"

namespace berth::mcp {
namespace {

using Values = std::optional<std::vector<std::string>>;

struct Matched {
  std::string uri_template;
  std::string uri;
  Values values;
};

TEST(Catalog, ATemplateMakesWhatHasAPartOfAPathForEachVariable) {
  const std::vector<Matched> all = {
      {"x://a", "x://a", {{}}},
      {"x://a", "x://ab", std::nullopt},
      {"x://a/{id}", "x://a/7", {{"7"}}},
      {"x://a/{id}", "x://a/", std::nullopt},
      {"x://a/{id}", "x://a", std::nullopt},
      {"x://a/{id}", "x://b/7", std::nullopt},
      {"x://a/{id}", "x://a/7/log", std::nullopt},
      {"x://a/{id}/log", "x://a/7/log", {{"7"}}},
      {"x://a/{id}/log", "x://a/7/8/log", std::nullopt},
      {"x://a/{id}/log", "x://a//log", std::nullopt},
      {"x://a/{id}/log", "x://a/7/lo", std::nullopt},
      {"x://{a}/b/{c}", "x://1/b/2", {{"1", "2"}}},
      {"x://{a}-{b}.txt", "x://1-2.txt", {{"1", "2"}}},
      {"x://{a}-{b}.txt", "x://1/3-2.txt", std::nullopt},
      {"x://{a", "x://7", {{"7"}}},
      {"{a}", "", std::nullopt},
      {"", "", {{}}},
  };
  for (const Matched& one : all) {
    EXPECT_EQ(variables_of(one.uri_template, one.uri), one.values)
        << one.uri_template << " " << one.uri;
  }
}

TEST(Catalog, FindsWhatItLists) {
  const Catalog catalog = small_catalog();
  EXPECT_EQ(catalog.tool("look"), &catalog.tools[1]);
  EXPECT_EQ(catalog.tool("Look"), nullptr);
  EXPECT_EQ(catalog.prompt("greet"), &catalog.prompts[0]);
  EXPECT_EQ(catalog.prompt("look"), nullptr);
  EXPECT_TRUE(catalog.has_resource("x://all"));
  EXPECT_TRUE(catalog.has_resource("x://one/7"));
  EXPECT_FALSE(catalog.has_resource("x://one"));
}

TEST(Catalog, IsSoundIfEachNameIsOneThatClientsTakeAndStandsOnce) {
  EXPECT_TRUE(is_sound(small_catalog()));
  const std::vector<std::function<void(Catalog&)>> spoilt = {
      [](Catalog& catalog) { catalog.tools[0].name = ""; },
      [](Catalog& catalog) { catalog.tools[0].name = "with blank"; },
      [](Catalog& catalog) { catalog.tools[0].name = "wörk"; },
      [](Catalog& catalog) { catalog.tools[0].name = std::string(65, 'a'); },
      [](Catalog& catalog) { catalog.tools[0].name = catalog.tools[1].name; },
      [](Catalog& catalog) { catalog.prompts.push_back(catalog.prompts[0]); },
      [](Catalog& catalog) { catalog.resources.push_back(catalog.resources[0]); },
      [](Catalog& catalog) { catalog.templates.push_back(catalog.templates[0]); },
      [](Catalog& catalog) { catalog.others.push_back(catalog.others[0]); },
      [](Catalog& catalog) { catalog.resources[0].uri = ""; },
  };
  for (std::size_t i = 0; i < spoilt.size(); ++i) {
    Catalog catalog = small_catalog();
    spoilt[i](catalog);
    EXPECT_FALSE(is_sound(catalog)) << i;
    EXPECT_DEATH(Connection{catalog}, "is_sound") << i;
  }
  Catalog catalog = small_catalog();
  catalog.tools[0].name = std::string(62, 'a') + "-.";
  EXPECT_TRUE(is_sound(catalog));
}

}  // namespace
}  // namespace berth::mcp
