// SPDX-License-Identifier: Apache-2.0
// Printed forms of the configuration, and the check that the files made from the table of keys are
// as the table is now: BERTH_UPDATE=1 writes them anew.
#include "config/print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "config/load.h"

namespace berth::config {
namespace {

using testing::HasSubstr;

std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// `expected` must be what `path` holds.
void expect_up_to_date(const std::string& path, const std::string& expected) {
  if (std::getenv("BERTH_UPDATE") != nullptr) std::ofstream(path) << expected;
  EXPECT_EQ(contents(path), expected) << "run config_test with BERTH_UPDATE=1";
}

std::map<std::string, std::string> values(const Config& config) {
  std::map<std::string, std::string> values;
  for (const ShownValue& value : shown_values(config)) values[value.key] = value.value;
  return values;
}

Config loaded(Mode mode, const std::string& text) {
  auto result = load({.mode = mode, .files = {{.path = "f", .text = text}}});
  if (const Problems* problems = std::get_if<Problems>(&result)) {
    for (const Problem& problem : *problems) ADD_FAILURE() << to_text(problem);
    return {};
  }
  return std::get<Loaded>(result).config;
}

std::string without_comment_signs(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::string all;
  while (std::getline(lines, line)) {
    const bool value = line.starts_with("#") && !line.starts_with("# ") && line != "#";
    all += (value ? line.substr(1) : line) + "\n";
  }
  return all;
}

TEST(DefaultFile, SaysWhatHoldsAnyway) {
  for (const Mode mode : {Mode::kUser, Mode::kSystem}) {
    const std::string file = default_file(mode);
    EXPECT_TRUE(loaded(mode, file).origins.empty());
    const Config read = loaded(mode, without_comment_signs(file));
    EXPECT_FALSE(read.origins.empty());
    for (const auto& [key, value] : values(built_in(mode))) {
      EXPECT_EQ(values(read).at(key), value) << key;
      const bool in_file = !key.starts_with("request.");
      EXPECT_EQ(read.origins.contains(key), in_file) << key;
    }
  }
}

TEST(DefaultFile, IsReadInAnEditor) {
  std::istringstream lines(default_file(Mode::kSystem));
  std::string line;
  while (std::getline(lines, line)) EXPECT_LE(line.size(), 90U) << line;
  EXPECT_THAT(lines.str(), HasSubstr("\n[policy]\n"));
  EXPECT_THAT(lines.str(), HasSubstr("\n#order = \"fair\"\n"));
}

TEST(ShownValues, AreReadBackAsTheyAre) {
  const Config config = loaded(Mode::kSystem, R"(
gpu.reserve = "1536MiB"
gpu.sample_interval = "1500ms"
policy.default_vram = "4.5GiB"
policy.pass_max = "90m"
policy.exclusive_unmanaged_max = "1000000B"
access.admins = ["a\"b", "@c"]
users.guest.leases = 2
users."x.y".max_priority = "high"
tier.fast.yield = true
gpu."GPU-5a1c0d2e-0000-0000-0000-000000000001".reserve = "0"
)");
  std::string text;
  for (const ShownValue& value : shown_values(config)) {
    if (!value.value.empty() && !value.key.starts_with("request.")) {
      text += value.key + " = " + value.value + "\n";
    }
  }
  EXPECT_EQ(values(loaded(Mode::kSystem, text)), values(config)) << text;
  const auto shown = values(config);
  EXPECT_EQ(shown.at("gpu.reserve"), "\"1536MiB\"");
  EXPECT_EQ(shown.at("policy.pass_max"), "\"90m\"");
  EXPECT_EQ(shown.at("users.\"x.y\".max_priority"), "\"high\"");
  EXPECT_FALSE(shown.contains("users.guest.vram"));
  EXPECT_EQ(shown.at("request.vram"), "");
}

TEST(KeysOf, RuleReadsBackAsItIs) {
  AlertRule rule{.when = *alerts::parse_expression("lease.ended name=a\"b"),
                 .severity = Severity::kInfo,
                 .repeat = minutes(10),
                 .terminal = true};
  const std::string keys = keys_of(rule);
  EXPECT_EQ(keys,
            "when = \"lease.ended name=a\\\"b\"\nseverity = \"info\"\nrepeat = \"10m\"\n"
            "terminal = true\n");
  const AlertRule read = loaded(Mode::kUser, "[alert.r]\n" + keys).alerts.at("r");
  EXPECT_EQ(read.when, rule.when);
  EXPECT_EQ(keys_of(read), keys);
}

TEST(ShownValues, NameTheirOrigin) {
  for (const ShownValue& value : shown_values(loaded(Mode::kUser, "policy.order = \"fifo\""))) {
    EXPECT_EQ(to_text(value.origin), value.key == "policy.order" ? "f:1" : "built-in");
  }
}

TEST(Docs, ListTheKeysAsTheyAre) {
  const std::string path = BERTH_SOURCE_DIR "/docs/config.md";
  const std::string begin = "<!-- keys: made from src/shared/config/keys.cc -->\n";
  const std::string end = "<!-- end of keys -->\n";
  const std::string page = contents(path);
  const std::size_t from = page.find(begin);
  const std::size_t to = page.find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  expect_up_to_date(path,
                    page.substr(0, from + begin.size()) + markdown_tables() + page.substr(to));
}

TEST(Docs, SchemaForEditorsIsAsTheKeysAre) {
  expect_up_to_date(BERTH_SOURCE_DIR "/share/berth.schema.json", json_schema());
}

}  // namespace
}  // namespace berth::config
