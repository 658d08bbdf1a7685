// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <cmath>

namespace berth {
namespace {

TEST(JsonWriter, RealNumbersAreAsShortAsTheyCanBe) {
  JsonWriter writer;
  writer.begin_array().real(0.1).real(1.0).real(-2.5e-300).real(1e22).end_array();
  EXPECT_EQ(writer.take(), "[0.1,1,-2.5e-300,1e+22]");
}

TEST(JsonWriter, WhatIsUnknownOrNoNumberIsNull) {
  JsonWriter writer;
  writer.begin_array().real(std::nullopt).real(std::nan("")).real(1 / 0.0).end_array();
  EXPECT_EQ(writer.take(), "[null,null,null]");
}

TEST(JsonWriter, IndentedEachElementHasItsLine) {
  JsonWriter writer(JsonWriter::Layout::kIndented);
  writer.begin_object().key("a").number(1).key("b").begin_array().text("x").begin_object();
  writer.key("c").boolean(false).end_object().end_array();
  writer.key("d").begin_object().end_object().key("e").begin_array().end_array().end_object();
  EXPECT_EQ(writer.take(), R"({
  "a": 1,
  "b": [
    "x",
    {
      "c": false
    }
  ],
  "d": {},
  "e": []
})");
}

TEST(JsonWriter, WhatIsJsonAlreadyStandsAsItWas) {
  JsonWriter writer;
  writer.begin_object().key("a").json(R"({"b": [1.50]})").key("c").json("-0").end_object();
  EXPECT_EQ(writer.take(), R"({"a":{"b": [1.50]},"c":-0})");
  EXPECT_DEATH(JsonWriter().json("{"), "is_json");
}

}  // namespace
}  // namespace berth
