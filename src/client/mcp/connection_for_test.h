// SPDX-License-Identifier: Apache-2.0
// A connection to a small server, and lines as clients of both eras send them. For tests; not part
// of a program.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mcp/catalog.h"
#include "mcp/connection.h"
#include "mcp/effect.h"

namespace berth::mcp {

// As tests read them in the protocol, and not from Code.
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternal = -32603;
inline constexpr int kResourceNotFound = -32002;
inline constexpr int kUnsupportedVersion = -32022;

inline Catalog small_catalog() {
  return {.name = "small",
          .version = "1.2",
          .tools = {{.name = "work",
                     .title = "Work",
                     .description = "Works.",
                     .input_schema = R"({"type":"object"})"},
                    {.name = "look",
                     .title = "Look",
                     .description = "Looks.",
                     .hints = {.read_only = true,
                               .destructive = false,
                               .idempotent = true,
                               .open_world = false},
                     .input_schema = R"({"type":"object"})",
                     .output_schema = R"({"type":"object"})"}},
          .resources = {{.uri = "x://all", .name = "all"}},
          .templates = {{.uri_template = "x://one/{id}", .name = "one"}},
          .prompts = {{.name = "greet",
                       .arguments = {{.name = "whom", .is_required = true}, {.name = "how"}}}},
          .others = {{.name = "logging/setLevel", .capability = "logging", .only_legacy = true},
                     {.name = "completion/complete", .capability = "completions"}},
          .tells_of_changes = true,
          .caching = {.ttl = seconds(60), .scope = CacheScope::kPublic}};
}

inline std::string line_of(std::string_view id, std::string_view method,
                           const std::string& params) {
  return R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"method":")" + std::string(method) +
         R"(","params":{)" + params + "}}";
}

/// With more members of `_meta`, and of the parameters, such as `"name":"work"`.
struct Said {
  std::string params = {};
  std::string meta = {};
  std::string capabilities = "{}";
};

inline std::string modern(std::string_view id, std::string_view method, const Said& said = {}) {
  return line_of(id, method,
                 R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
                 R"("io.modelcontextprotocol/clientCapabilities":)" +
                     said.capabilities + (said.meta.empty() ? "" : ",") + said.meta + "}" +
                     (said.params.empty() ? "" : ",") + said.params);
}
inline std::string legacy(std::string_view id, std::string_view method, const Said& said = {}) {
  const std::string meta = said.meta.empty() ? "" : R"("_meta":{)" + said.meta + "}";
  return line_of(id, method, meta + (meta.empty() || said.params.empty() ? "" : ",") + said.params);
}
inline std::string initialize(const std::string& capabilities = "{}",
                              const std::string& version = "2025-11-25") {
  return legacy("0", "initialize",
                {R"("protocolVersion":")" + version + R"(","capabilities":)" + capabilities +
                 R"(,"clientInfo":{"name":"client","version":"9"})"});
}
inline std::string cancelled(std::string_view id) {
  return R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":)" +
         std::string(id) + "}}";
}

// As the lines of tests have them.
inline std::string text_of(const Send& send) {
  return send.line;
}
inline std::string text_of(const BeginCall& call) {
  constexpr std::array<std::string_view, 4> kTargets = {"tool", "resource", "prompt", "other"};
  return "begin " + std::to_string(call.call.value) + " " +
         std::string(kTargets.at(static_cast<std::size_t>(call.target))) + " " + call.name + " " +
         call.arguments;
}
inline std::string text_of(const CancelCall& cancel) {
  return "cancel " + std::to_string(cancel.call.value);
}
inline std::string text_of(const Answered& answered) {
  return "answered " + std::to_string(answered.call.value) + " " + answered.answer;
}

inline std::vector<std::string> texts_of(const Effects& effects) {
  std::vector<std::string> texts;
  for (const Effect& effect : effects) {
    texts.push_back(std::visit([](const auto& one) { return text_of(one); }, effect));
  }
  return texts;
}

/// What a line says, without what stands around every result.
inline std::string between(const std::string& line, std::string_view begin, std::string_view end) {
  if (!line.starts_with(begin) || !line.ends_with(end)) return line;
  return line.substr(begin.size(), line.size() - begin.size() - end.size());
}
/// Of a result of the modern era that is complete, its members.
inline std::string modern_members(const std::string& line, std::string_view id) {
  return between(
      line,
      R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":{"resultType":"complete",)",
      R"(,"_meta":{"io.modelcontextprotocol/serverInfo":)"
      R"({"name":"small","version":"1.2"}}}})");
}
inline std::string legacy_members(const std::string& line, std::string_view id) {
  return between(line, R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":{)", "}}");
}

class ConnectionTest : public testing::Test {
 protected:
  std::vector<std::string> receive(const std::string& line) {
    return texts_of(connection_.receive(line));
  }
  /// The one line that comes back.
  std::string answer(const std::string& line) {
    const Effects effects = connection_.receive(line);
    return effects.size() == 1 ? texts_of(effects).front() : std::to_string(effects.size());
  }
  /// The code of the error that comes back; 0: something else does.
  int error(const std::string& line) {
    const Effects effects = connection_.receive(line);
    const auto* send = effects.size() == 1 ? std::get_if<Send>(&effects.front()) : nullptr;
    return send != nullptr && send->error ? static_cast<int>(*send->error) : 0;
  }
  BeginCall begun(const std::string& line) {
    const Effects effects = connection_.receive(line);
    const auto* call = effects.size() == 1 ? std::get_if<BeginCall>(&effects.front()) : nullptr;
    EXPECT_NE(call, nullptr) << line;
    return call == nullptr ? BeginCall() : *call;
  }
  std::vector<std::string> finish(CallId call, const Outcome& outcome) {
    return texts_of(connection_.finish(call, outcome));
  }

  const Catalog catalog_ = small_catalog();
  Connection connection_{catalog_};
};

}  // namespace berth::mcp
