// SPDX-License-Identifier: Apache-2.0
#include "setup/toml_edit.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace berth::setup {
namespace {

constexpr std::string_view kName = "mcp_servers.berth";
constexpr std::string_view kLines = "command = \"berth\"\nargs = [\"mcp\"]\n";
const std::string kTable = "[mcp_servers.berth]\n" + std::string(kLines);

TEST(WithTable, GoesToTheEndAndComesOutAgain) {
  const std::array<std::string, 4> texts = {
      "model = \"o\"  # mine\n", "", "# only a comment\n",
      "[mcp_servers.other]\ncommand = \"x\"\n\n[profiles.a]\nb = [\n  1,\n]\n"};
  for (const std::string& text : texts) {
    const auto changed = with_table(text, kName, kLines);
    ASSERT_TRUE(changed.ok()) << changed.error().message;
    EXPECT_EQ(*changed, text + (text.empty() ? "" : "\n") + kTable);
    EXPECT_EQ(*without_table(*changed, kName), text);
    EXPECT_EQ(*with_table(*changed, kName, kLines), *changed) << "twice is once";
  }
}

TEST(WithTable, IsReplacedInItsPlaceAndWhatFollowsStays) {
  const std::string text =
      "a = 1\n\n[mcp_servers.berth]\ncommand = \"old\"\n\n# Of the next.\n[other]\nb = 2\n";
  EXPECT_EQ(*with_table(text, kName, kLines),
            "a = 1\n\n" + kTable + "\n# Of the next.\n[other]\nb = 2\n");
  EXPECT_EQ(*without_table(text, kName), "a = 1\n\n# Of the next.\n[other]\nb = 2\n");
  EXPECT_EQ(*without_table("a = 1\n", kName), "a = 1\n");
}

TEST(WithTable, WhatIsNoTomlIsRefusedWithItsLine) {
  const auto changed = with_table("a = 1\nb = = 2\n", kName, kLines);
  ASSERT_FALSE(changed.ok());
  EXPECT_TRUE(changed.error().message.starts_with("line 2: ")) << changed.error().message;
  EXPECT_FALSE(without_table("[a\n", kName).ok());
}

// One that is written otherwise is not found, and must not be there twice.
TEST(WithTable, OneThatIsThereInAnotherFormIsNotDoubled) {
  EXPECT_FALSE(with_table("mcp_servers = { berth = { command = \"x\" } }\n", kName, kLines).ok());
  EXPECT_FALSE(with_table("[ mcp_servers . berth ]\ncommand = \"x\"\n", kName, kLines).ok());
}

}  // namespace
}  // namespace berth::setup
