// SPDX-License-Identifier: Apache-2.0
// The catalog of a server: what it is called and what it offers, in the order in which clients are
// told, which never changes while it runs. What a tool does is not known here. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "base/words.h"

namespace berth::mcp {

/// What a tool does to the world. At the protocol's defaults, which expect the worst; all are said.
struct Hints {
  bool read_only = false;
  bool destructive = true;
  bool idempotent = false;
  bool open_world = true;
};

struct Tool {
  std::string name;
  std::string title;
  std::string description;
  Hints hints = {};
  std::string input_schema;        // A JSON Schema of an object, in one line.
  std::string output_schema = {};  // Empty: its results are text alone.
};

struct Resource {
  std::string uri;
  std::string name;
  std::string title = {};
  std::string description = {};
  std::string mime_type = {};
};

struct ResourceTemplate {
  std::string uri_template;  // `gpu://leases/{id}`
  std::string name;
  std::string title = {};
  std::string description = {};
  std::string mime_type = {};
};

struct PromptArgument {
  std::string name;
  std::string description = {};
  bool is_required = false;
};

struct Prompt {
  std::string name;
  std::string title = {};
  std::string description = {};
  std::vector<PromptArgument> arguments = {};
};

/// A method beside those of tools, resources and prompts.
struct OtherMethod {
  std::string name;        // `completion/complete`
  std::string capability;  // `completions`
  bool only_legacy = false;
};

/// Who else may be given an answer that was kept.
enum class CacheScope : std::uint8_t { kPublic, kPrivate };
constexpr auto words_of(CacheScope) {
  using enum CacheScope;
  return make_words<CacheScope>({{kPublic, "public"}, {kPrivate, "private"}});
}
/// How long an answer may be kept.
struct Caching {
  Duration ttl = {};
  CacheScope scope = CacheScope::kPrivate;
};

struct Catalog {
  std::string name;
  std::string title = {};
  std::string version;
  std::string instructions = {};  // For the model; empty: there are none.
  std::vector<Tool> tools = {};
  std::vector<Resource> resources = {};
  std::vector<ResourceTemplate> templates = {};
  std::vector<Prompt> prompts = {};
  std::vector<OtherMethod> others = {};
  bool tells_of_changes = false;  // Of resources, to clients that subscribe to them.
  Caching caching = {};           // Of this catalog.

  bool has_resources() const { return !resources.empty() || !templates.empty(); }
  const Tool* tool(std::string_view tool_name) const;
  const Prompt* prompt(std::string_view prompt_name) const;
  /// One that is listed, or that a template makes. Whether there is such a thing just now is
  /// another question.
  bool has_resource(std::string_view uri) const;
};

/// Whether clients take it: names that all of them allow, each once.
bool is_sound(const Catalog& catalog);

/// What stands for the variables of a template such as `gpu://jobs/{id}/log`, in their order; each
/// is a part of a path. Absent where the URI is none that the template makes.
std::optional<std::vector<std::string>> variables_of(std::string_view uri_template,
                                                     std::string_view uri);

}  // namespace berth::mcp
