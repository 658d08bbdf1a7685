// SPDX-License-Identifier: Apache-2.0
#include "train/json_line.h"

#include <gtest/gtest.h>

#include <cmath>

namespace berth::train {
namespace {

TEST(JsonLine, Members) {
  JsonLine inner;
  inner.count("n", UINT64_MAX);
  JsonLine line;
  line.text("name", "a \"b\"").number("x", 0.1).flag("yes", true).flag("no", false);
  line.object("in", inner);
  EXPECT_EQ(line.str(),
            R"({"name":"a \"b\"","x":0.1,"yes":true,"no":false,"in":{"n":18446744073709551615}})");
}

TEST(JsonLine, WhatIsUnknownOrNoNumberIsNull) {
  JsonLine line;
  line.number("a", std::nullopt).number("b", std::nan("")).number("c", 1 / 0.0);
  EXPECT_EQ(line.str(), R"({"a":null,"b":null,"c":null})");
  EXPECT_EQ(JsonLine().str(), "{}");
}

}  // namespace
}  // namespace berth::train
