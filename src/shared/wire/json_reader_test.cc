// SPDX-License-Identifier: Apache-2.0
#include "wire/json_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace berth::wire {
namespace {

std::string real_in(std::string_view json) {
  JsonDocument document(json, {.what = "it", .size_max = 1'000});
  ObjectReader root = document.root();
  double value = -1;
  root.real("loss", value);
  root.done();
  return document.status().ok() ? std::to_string(value) : document.status().error().message;
}

TEST(JsonReader, RealNumbersAreFinite) {
  EXPECT_EQ(real_in(R"({"loss":2.5})"), "2.500000");
  EXPECT_EQ(real_in(R"({"loss":-1e-3})"), "-0.001000");
  EXPECT_EQ(real_in(R"({"loss":3})"), "3.000000");
  EXPECT_EQ(real_in(R"({"loss":null})"), "-1.000000");
  EXPECT_EQ(real_in("{}"), "-1.000000");
  for (const char* wrong : {R"({"loss":"2"})", R"({"loss":true})", R"({"loss":1e999})"}) {
    EXPECT_NE(real_in(wrong).find("'loss' must be a number"), std::string::npos) << wrong;
  }
}

// Beside another reader.
RC_GTEST_PROP(JsonDocument, IsWhatAnotherReaderTakesForAnObject, ()) {
  const auto pieces = *rc::gen::container<std::vector<const char*>>(
      rc::gen::element("{", "}", "[", "]", ",", ":", "\"a\"", "\"b\":", "\"\\u00", "\\n", "\"", "0",
                       "12", "+", "-", ".5", "true", "null", " ", "\t", "\xC3", "\xA4", "\x01"));
  std::string json;
  for (const char* piece : pieces) json += piece;
  json = "{\"a\":" + json + "}";
  const JsonDocument document(json, {.what = "it", .manner = Manner::kLenient, .size_max = 1'000});
  const Status status = document.status();
  const std::string fault = status.ok() ? "" : status.error().message;
  RC_PRE(!fault.ends_with("twice") && !fault.ends_with("levels"));
  RC_ASSERT(status.ok() == nlohmann::json::accept(json));
}

}  // namespace
}  // namespace berth::wire
