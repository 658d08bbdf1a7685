// SPDX-License-Identifier: Apache-2.0
// Catalog of the fuzzed servers of the protocol, and outcomes of its calls.
#pragma once

#include "mcp/catalog.h"
#include "mcp/effect.h"
#include "mcp/outcome.h"

namespace berth::fuzz {

inline mcp::Catalog mcp_catalog() {
  return {.name = "fuzzed",
          .version = "1",
          .tools = {{.name = "work",
                     .title = "Work",
                     .description = "Works.",
                     .input_schema = R"({"type":"object"})"}},
          .resources = {{.uri = "x://all", .name = "all"}},
          .templates = {{.uri_template = "x://one/{id}", .name = "one"}},
          .prompts = {{.name = "greet", .arguments = {{.name = "whom", .is_required = true}}}},
          .others = {{.name = "completion/complete", .capability = "completions"}},
          .tells_of_changes = true};
}

inline mcp::Outcome outcome_of(const mcp::BeginCall& call) {
  switch (call.target) {
    case mcp::Target::kTool:
      return mcp::ToolResult{.content = {mcp::Text{call.name + call.state}},
                             .structured = call.arguments};
    case mcp::Target::kResource:
      return mcp::ResourceResult{{{.uri = call.name, .contents = mcp::Text{"a\nb"}}}};
    case mcp::Target::kPrompt:
      return mcp::PromptResult{.messages = {{mcp::Role::kUser, mcp::Text{call.arguments}}}};
    case mcp::Target::kOther:
      break;
  }
  return mcp::OtherResult{call.arguments};
}

}  // namespace berth::fuzz
