// SPDX-License-Identifier: Apache-2.0
#include "train/saved_state.h"

#include <gtest/gtest.h>

namespace berth::train {
namespace {

const SavedState kState{.settings = {{"steps", "10"}, {"data", "a \"b\""}},
                        .position = UINT64_MAX,
                        .fingerprint = 3,
                        .values = {{"phases.steps", "4"}}};
constexpr const char* kJson =
    R"({"version":1,"settings":{"steps":"10","data":"a \"b\""},)"
    R"("data":{"position":18446744073709551615,"fingerprint":3},"state":{"phases.steps":"4"}})";

std::string trouble_of(std::string json, const std::string& part, const std::string& instead) {
  json.replace(json.find(part), part.size(), instead);
  const Result<SavedState> state = parse_saved_state(json);
  if (state.ok()) return "none";
  EXPECT_EQ(state.error().code, Errc::kCorrupt);
  return state.error().message;
}

TEST(SavedState, IsWrittenAndReadTheSame) {
  EXPECT_EQ(to_json(kState), kJson);
  const Result<SavedState> read = parse_saved_state(kJson);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->settings, kState.settings);
  EXPECT_EQ(read->position, kState.position);
  EXPECT_EQ(read->fingerprint, kState.fingerprint);
  EXPECT_EQ(read->values, kState.values);
}

TEST(SavedState, WhatIsMissingOrOfAnotherKindIsNamed) {
  const std::string trouble = "holds no state of a training run that can be read";
  EXPECT_EQ(trouble_of(kJson, "{", "["), trouble);
  EXPECT_EQ(trouble_of(kJson, ":1,", ":2,"), trouble);
  EXPECT_EQ(trouble_of(kJson, ":1,", ":\"1\","), trouble);
  EXPECT_EQ(trouble_of(kJson, "\"settings\"", "\"other\""), trouble + " (\"settings\")");
  EXPECT_EQ(trouble_of(kJson, "\"10\"", "10"), trouble + " (\"settings\")");
  EXPECT_EQ(trouble_of(kJson, "{\"phases.steps\":\"4\"}", "[]"), trouble + " (\"state\")");
  EXPECT_EQ(trouble_of(kJson, "\"data\":{", "\"date\":{"), trouble + " (\"data\")");
  EXPECT_EQ(trouble_of(kJson, "18446744073709551615", "-1"), trouble + " (\"position\")");
  EXPECT_EQ(trouble_of(kJson, ":3}", ":3.5}"), trouble + " (\"fingerprint\")");
}

}  // namespace
}  // namespace berth::train
