// SPDX-License-Identifier: Apache-2.0
// Coding agents that can be set up, and the changes of their settings that do it and undo it. Pure;
// any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/words.h"

namespace berth::setup {

enum class Agent : std::uint8_t { kClaude, kCodex, kCursor, kVsCode };
constexpr auto words_of(Agent) {
  using enum Agent;
  return make_words<Agent>(
      {{kClaude, "claude"}, {kCodex, "codex"}, {kCursor, "cursor"}, {kVsCode, "vscode"}});
}

struct Places {
  std::string home;
  std::string config_home;  // XDG_CONFIG_HOME, or what stands for it.
  std::string program;      // Of `berth`, absolute.
  bool allow_run = false;   // Agents may have it start commands.
};

enum class Direction : std::uint8_t { kAdd, kRemove };

/// Of one file.
struct Change {
  std::string path;
  std::string about;  // For people: "the MCP server".
  /// From what the file has, empty where it is not there, to what it is to have; empty: none is
  /// needed. kInvalid: it makes no sense, with the line.
  std::function<Result<std::string>(std::string_view text, Direction direction)> apply;
};

/// In the order in which they are made.
std::vector<Change> changes_for(Agent agent, const Places& places);

}  // namespace berth::setup
