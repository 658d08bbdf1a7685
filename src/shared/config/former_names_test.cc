// SPDX-License-Identifier: Apache-2.0
// Keys and figures that have been renamed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "config/load.h"

namespace berth::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Loaded loaded_with_notes(const Input& input) {
  auto result = load(input);
  EXPECT_TRUE(std::holds_alternative<Loaded>(result));
  return std::get<Loaded>(std::move(result));
}

TEST(FormerNames, OfKeysAreReadAndSaid) {
  const Loaded result =
      loaded_with_notes({.files = {{.kind = File::Kind::kMachine, .path = "berth.toml", .text = R"(
[policy]
exclusive_external_max = "3G"
[pressure]
on_strangers = ["notify", "checkpoint@10s"]
[alert.crowded]
when = "gpu.external > 2G"
[alert.fine]
when = "gpu.unmanaged > 2G"
)"}}});
  std::vector<std::string> notes;
  for (const Problem& note : result.notes) notes.push_back(to_text(note));
  EXPECT_THAT(
      notes,
      ElementsAre(
          HasSubstr(":3:1: policy.exclusive_external_max: is called policy.exclusive_unmanaged_max "
                    "now"),
          HasSubstr(":5:1: pressure.on_strangers: is called pressure.on_unmanaged now"),
          HasSubstr(":7:1: alert.crowded.when: gpu.external is called gpu.unmanaged now")));
  EXPECT_EQ(result.config.core.exclusive_unmanaged_max, gib(3));
  EXPECT_EQ(result.config.core.pressure.on_unmanaged.size(), 2U);
  EXPECT_EQ(result.config.alerts.at("crowded").when, result.config.alerts.at("fine").when);
  EXPECT_EQ(result.config.origins.at("policy.exclusive_unmanaged_max").line, 3U);
}

TEST(FormerNames, OfOverridesAreReadAndSaid) {
  const Loaded result = loaded_with_notes(
      {.overrides = {{.key = "policy.exclusive_external_max", .text = "3G", .where = "--set"},
                     {.key = "alert.a.when", .text = "gpu.external > 2G", .where = "--when"}}});
  EXPECT_EQ(result.config.core.exclusive_unmanaged_max, gib(3));
  EXPECT_TRUE(result.config.origins.contains("policy.exclusive_unmanaged_max"));
  ASSERT_EQ(result.notes.size(), 2U);
  EXPECT_EQ(to_text(result.notes[0]),
            "--set: policy.exclusive_external_max: is called policy.exclusive_unmanaged_max now");
  EXPECT_EQ(to_text(result.notes[1]),
            "--when: alert.a.when: gpu.external is called gpu.unmanaged now");
}

}  // namespace
}  // namespace berth::config
