// SPDX-License-Identifier: Apache-2.0
// Hooks of a coding agent, as Claude Code calls them: what it tells on stdin, and what is answered.
// Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"

namespace berth::setup {

/// What is known of the session, and of the tool that is to be used. Other fields are ignored.
struct HookInput {
  std::string session;  // Of the agent.
  std::string tool;     // Empty: the hook is about none.
  std::string command;  // Of Bash.
};
/// kInvalid: it is no object of JSON.
Result<HookInput> read_hook_input(std::string_view text);

/// By which leases of that session are known: "claude-" and the beginning of its number. Letters,
/// digits, '-' and '_' alone.
std::string session_name(std::string_view session);

/// What its shells are given: a line for the file that they read.
std::string session_variables(const std::string& name);
/// What the model is told when a session begins.
std::string session_start_answer();

/// Before a tool is used. Empty: it may be. `lease`: one that the session holds.
std::string pre_tool_use_answer(const HookInput& input, std::optional<LeaseId> lease);

}  // namespace berth::setup
