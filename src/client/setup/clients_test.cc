// SPDX-License-Identifier: Apache-2.0
#include "setup/clients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "setup/json_edit.h"

namespace berth::setup {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const Places kPlaces = {
    .home = "/home/me", .config_home = "/home/me/.config", .program = "/usr/bin/berth"};

std::string applied(const Change& change, std::string_view text,
                    Direction direction = Direction::kAdd) {
  const auto changed = change.apply(text, direction);
  return changed.ok() ? *changed : "refused: " + changed.error().message;
}

TEST(ChangesFor, EachAgentHaveTheirFiles) {
  const auto paths = [](Agent agent) {
    std::vector<std::string> all;
    for (const Change& change : changes_for(agent, kPlaces)) all.push_back(change.path);
    return all;
  };
  EXPECT_THAT(paths(Agent::kClaude),
              testing::ElementsAre("/home/me/.claude.json", "/home/me/.claude/settings.json",
                                   "/home/me/.claude/skills/berth/SKILL.md"));
  EXPECT_THAT(paths(Agent::kCodex), testing::ElementsAre("/home/me/.codex/config.toml"));
  EXPECT_THAT(paths(Agent::kCursor), testing::ElementsAre("/home/me/.cursor/mcp.json"));
  EXPECT_THAT(paths(Agent::kVsCode), testing::ElementsAre("/home/me/.config/Code/User/mcp.json"));
}

TEST(ChangesFor, AServerIsAddedOnceAndTakenOutAgain) {
  for (const Agent agent : {Agent::kClaude, Agent::kCursor, Agent::kVsCode}) {
    const Change change = changes_for(agent, kPlaces).front();
    const std::string text = "{\n  \"theme\": \"dark\" // mine\n}\n";
    const std::string added = applied(change, text);
    const bool is_vscode = agent == Agent::kVsCode;
    const std::vector<std::string_view> path = {is_vscode ? "servers" : "mcpServers", "berth"};
    const std::string server = *member_of(added, path);
    EXPECT_THAT(server, HasSubstr("\"command\": \"/usr/bin/berth\",\n"));
    EXPECT_THAT(server, HasSubstr("\"args\": [\"mcp\"]\n"));
    EXPECT_EQ(applied(change, added), added);
    const std::string removed = applied(change, added, Direction::kRemove);
    EXPECT_THAT(removed, HasSubstr("\"theme\": \"dark\", // mine"));
    EXPECT_THAT(removed, Not(HasSubstr("\"berth\"")));
  }
}

TEST(ChangesFor, CodexHasATable) {
  const Change change = changes_for(Agent::kCodex, kPlaces).front();
  EXPECT_EQ(applied(change, "model = \"o\"\n"),
            "model = \"o\"\n\n[mcp_servers.berth]\ncommand = \"/usr/bin/berth\"\nargs = "
            "[\"mcp\"]\n");
  EXPECT_EQ(applied(change, applied(change, "a = 1\n"), Direction::kRemove), "a = 1\n");
}

TEST(ChangesFor, HooksAreBesideThoseThatAreThere) {
  const Change change = changes_for(Agent::kClaude, kPlaces)[1];
  const std::string theirs =
      R"({"matcher": "Bash", "hooks": [{"type": "command", "command": "lint hook x"}]})";
  const std::string text = R"({"hooks": {"PreToolUse": [)" + theirs + "]}}";
  const std::string added = applied(change, text);
  for (const char* hook : {"session-start", "pre-tool-use", "stop"}) {
    EXPECT_THAT(added, HasSubstr(std::string("\"command\": \"/usr/bin/berth hook ") + hook + '"'));
  }
  const std::vector<std::string_view> path = {"hooks", "PreToolUse"};
  EXPECT_THAT(*member_of(added, path), StartsWith("[" + theirs + ", {\n"));
  EXPECT_EQ(applied(change, added), added) << "twice is once";
  const std::string removed = applied(change, added, Direction::kRemove);
  EXPECT_EQ(*member_of(removed, path), "[" + theirs + "]");
  EXPECT_THAT(removed, Not(HasSubstr("berth")));
}

TEST(ChangesFor, BrokenSettingsAreRefusedWithTheirLine) {
  EXPECT_EQ(applied(changes_for(Agent::kCursor, kPlaces).front(), "{\n\"a\" 1}"),
            "refused: line 2: no colon behind a name");
  EXPECT_THAT(applied(changes_for(Agent::kClaude, kPlaces)[1], "{\"hooks\": {\"Stop\": 3}}"),
              HasSubstr("something else than a list"));
}

}  // namespace
}  // namespace berth::setup
