// SPDX-License-Identifier: Apache-2.0
#include "base/json_copy.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

namespace berth {
namespace {

std::string copy_of(const std::string& text) {
  const auto read = JsonTree::parse_strictly(text);
  const auto* tree = std::get_if<JsonTree>(&read);
  return tree == nullptr ? "no JSON" : json_at(*tree, 0);
}

TEST(JsonCopy, SaysTheSameInOneLine) {
  for (const std::string json :
       {R"({"a":[1,-0,2.50,1e400,12345678901234567890],"b":{"":null},"c":[true,false,{}],"d":[]})",
        R"("\"\\ \n ä € 🙂")", "-1.0E+2", "null"}) {
    EXPECT_EQ(copy_of(json), json);
  }
  EXPECT_EQ(copy_of(" { \"a\" :\n[ 1 ,\t2 ] }\r\n"), R"({"a":[1,2]})");
  EXPECT_EQ(copy_of(R"({"\u0061":"\u20ac\/"})"), R"({"a":"€/"})");
}

TEST(JsonCopy, APartStandsAlone) {
  const std::string text = R"({"a":1,"b":[{"c":"d"}],"e":2})";
  const auto read = JsonTree::parse_strictly(text);
  const auto& tree = std::get<JsonTree>(read);
  EXPECT_EQ(json_at(tree, tree.find(0, "b").value_or(0)), R"([{"c":"d"}])");
  EXPECT_EQ(json_at(tree, tree.find(0, "e").value_or(0)), "2");
}

}  // namespace
}  // namespace berth
