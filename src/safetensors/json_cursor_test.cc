// SPDX-License-Identifier: Apache-2.0
#include "safetensors/json_cursor.h"

#include <gtest/gtest.h>

namespace berth::safetensors {
namespace {

TEST(JsonCursor, JsonIsToldFromWhatIsNone) {
  for (const char* text :
       {"0", " -1.5e+3 ", "\"a\\n\"", "null", "true", "false", "[]", "{}", "[1, [2], {\"a\": {}}]",
        "{\"a\":1,\"b\":\"\\u0061\"}\n", "10", "0.5", "1E5"}) {
    EXPECT_TRUE(is_json(text)) << text;
  }
  for (const char* text :
       {"",      " ",  "01",      "-",   "+1",   "1.",       ".5",    "1e",      "nul",
        "truth", "\"", "\"\\x\"", "'a'", "[1,]", "[1 2]",    "{1:2}", "{\"a\"}", "{\"a\":}",
        "{,}",   "[",  "]",       "1 2", "NaN",  "\"\xFF\"", "\"\t\""}) {
    EXPECT_FALSE(is_json(text)) << text;
  }
}

TEST(JsonCursor, DepthHasABound) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(is_json(nested(65)));
  EXPECT_FALSE(is_json(nested(66)));
  EXPECT_FALSE(is_json(nested(1'000'000)));
}

}  // namespace
}  // namespace berth::safetensors
