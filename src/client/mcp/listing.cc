// SPDX-License-Identifier: Apache-2.0
#include "mcp/listing.h"

#include <set>
#include <string>

#include "mcp/outcome.h"

namespace berth::mcp {
namespace {

void text_if_any(JsonWriter& out, std::string_view key, std::string_view text) {
  if (!text.empty()) out.plain_key(key).text(text);
}

void write_capabilities(JsonWriter& out, const Catalog& catalog, Era era) {
  out.plain_key("capabilities").begin_object();
  if (!catalog.tools.empty()) out.plain_key("tools").begin_object().end_object();
  if (catalog.has_resources()) {
    out.plain_key("resources").begin_object();
    if (catalog.tells_of_changes) out.plain_key("subscribe").boolean(true);
    out.end_object();
  }
  if (!catalog.prompts.empty()) out.plain_key("prompts").begin_object().end_object();
  std::set<std::string_view> said;
  for (const OtherMethod& other : catalog.others) {
    if (other.only_legacy && era == Era::kModern) continue;
    if (said.insert(other.capability).second) {
      out.key(other.capability).begin_object().end_object();
    }
  }
  out.end_object();
}

// Of a resource and of a template.
void write_rest(JsonWriter& out, const auto& resource) {
  out.plain_key("name").text(resource.name);
  text_if_any(out, "title", resource.title);
  text_if_any(out, "description", resource.description);
  text_if_any(out, "mimeType", resource.mime_type);
  out.end_object();
}

// All of them are said: what is not said counts as true for some.
void write_hints(JsonWriter& out, const Tool& tool) {
  out.plain_key("annotations").begin_object();
  text_if_any(out, "title", tool.title);  // Before 2025-06-18 it stood here alone.
  out.plain_key("readOnlyHint").boolean(tool.hints.read_only);
  out.plain_key("destructiveHint").boolean(tool.hints.destructive);
  out.plain_key("idempotentHint").boolean(tool.hints.idempotent);
  out.plain_key("openWorldHint").boolean(tool.hints.open_world).end_object();
}

}  // namespace

void write_server(JsonWriter& out, const Catalog& catalog) {
  out.begin_object().plain_key("name").text(catalog.name);
  text_if_any(out, "title", catalog.title);
  out.plain_key("version").text(catalog.version).end_object();
}

void write_discovery(JsonWriter& out, const Catalog& catalog) {
  out.plain_key("supportedVersions").begin_array();
  for (const std::string_view version : kModernVersions) out.plain_text(version);
  out.end_array();
  write_capabilities(out, catalog, Era::kModern);
  text_if_any(out, "instructions", catalog.instructions);
}

void write_initialized(JsonWriter& out, const Catalog& catalog, std::string_view version) {
  out.plain_key("protocolVersion").plain_text(version);
  write_capabilities(out, catalog, Era::kLegacy);
  out.plain_key("serverInfo");
  write_server(out, catalog);
  text_if_any(out, "instructions", catalog.instructions);
}

void write_tools(JsonWriter& out, const Catalog& catalog) {
  out.plain_key("tools").begin_array();
  for (const Tool& tool : catalog.tools) {
    out.begin_object().plain_key("name").text(tool.name);
    text_if_any(out, "title", tool.title);
    text_if_any(out, "description", tool.description);
    out.plain_key("inputSchema").json(tool.input_schema);
    if (!tool.output_schema.empty()) out.plain_key("outputSchema").json(tool.output_schema);
    write_hints(out, tool);
    out.end_object();
  }
  out.end_array();
}

void write_resources(JsonWriter& out, const Catalog& catalog) {
  out.plain_key("resources").begin_array();
  for (const Resource& resource : catalog.resources) {
    out.begin_object().plain_key("uri").text(resource.uri);
    write_rest(out, resource);
  }
  out.end_array();
}

void write_templates(JsonWriter& out, const Catalog& catalog) {
  out.plain_key("resourceTemplates").begin_array();
  for (const ResourceTemplate& one : catalog.templates) {
    out.begin_object().plain_key("uriTemplate").text(one.uri_template);
    write_rest(out, one);
  }
  out.end_array();
}

void write_prompts(JsonWriter& out, const Catalog& catalog) {
  out.plain_key("prompts").begin_array();
  for (const Prompt& prompt : catalog.prompts) {
    out.begin_object().plain_key("name").text(prompt.name);
    text_if_any(out, "title", prompt.title);
    text_if_any(out, "description", prompt.description);
    if (!prompt.arguments.empty()) out.plain_key("arguments").begin_array();
    for (const PromptArgument& argument : prompt.arguments) {
      out.begin_object().plain_key("name").text(argument.name);
      text_if_any(out, "description", argument.description);
      out.plain_key("required").boolean(argument.is_required).end_object();
    }
    if (!prompt.arguments.empty()) out.end_array();
    out.end_object();
  }
  out.end_array();
}

}  // namespace berth::mcp
