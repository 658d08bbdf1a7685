// SPDX-License-Identifier: Apache-2.0
// Results of tools: an answer as text and as facts, or why there is none. Any thread.
#pragma once

#include <string>
#include <utility>

#include "agents/sentences.h"
#include "agents/tool_arguments.h"
#include "mcp/outcome.h"
#include "wire/error.h"
#include "wire/field_writer.h"

namespace berth::agents {

template <class Answer>
mcp::ToolResult result_of(const Answer& answer) {
  return {.content = {mcp::Text{text_of(answer)}}, .structured = wire::answer_text(answer)};
}

inline mcp::ToolResult refused(std::string sentence) {
  return {.content = {mcp::Text{std::move(sentence)}}, .is_error = true};
}
inline mcp::ToolResult refused(const wire::ApiError& error) {
  return refused(text_of(error));
}

/// As the daemon finds it.
inline std::string reference_of(const LeaseName& name) {
  const auto* number = std::get_if<std::uint64_t>(&name);
  return number != nullptr ? std::to_string(*number) : std::get<std::string>(name);
}

}  // namespace berth::agents
