// SPDX-License-Identifier: Apache-2.0
#include "mcp/outcome.h"

#include <optional>

#include "base/check.h"
#include "base/json_copy.h"
#include "base/json_tree.h"
#include "base/words.h"
#include "mcp/message.h"

namespace berth::mcp {
namespace {

class ContentWriter {
 public:
  explicit ContentWriter(JsonWriter& out) : out_(out) {}

  void operator()(const Text& text) {
    begin("text").plain_key("text").text(text.text).end_object();
  }
  void operator()(const Image& image) { media("image", image); }
  void operator()(const Audio& audio) { media("audio", audio); }
  void operator()(const ResourceContents& resource) {
    begin("resource").plain_key("resource");
    contents(resource);
    out_.end_object();
  }
  void contents(const ResourceContents& resource) {
    out_.begin_object().plain_key("uri").text(resource.uri);
    if (!resource.mime_type.empty()) out_.plain_key("mimeType").text(resource.mime_type);
    if (const auto* text = std::get_if<Text>(&resource.contents)) {
      out_.plain_key("text").text(text->text);
    } else {
      out_.plain_key("blob").text(std::get<Blob>(resource.contents).base64);
    }
    out_.end_object();
  }

 private:
  JsonWriter& begin(std::string_view type) {
    return out_.begin_object().plain_key("type").plain_text(type);
  }
  void media(std::string_view type, const auto& of) {
    begin(type).plain_key("data").text(of.base64);
    out_.plain_key("mimeType").text(of.mime_type).end_object();
  }

  JsonWriter& out_;
};

// The answer of a client is an object, or what it says is lost.
std::optional<JsonTree> object_in(std::string_view json) {
  auto read = JsonTree::parse_strictly(json);
  auto* tree = std::get_if<JsonTree>(&read);
  if (tree == nullptr || (*tree)[0].kind != JsonTree::Kind::kObject) return std::nullopt;
  return std::move(*tree);
}

}  // namespace

ToolResult failed(const Error& error) {
  return {.content = {Text{error.message}}, .is_error = true};
}

void write_tool_result(JsonWriter& out, const ToolResult& result) {
  out.plain_key("content").begin_array();
  for (const Content& content : result.content) std::visit(ContentWriter(out), content);
  out.end_array();
  if (!result.structured.empty()) out.plain_key("structuredContent").json(result.structured);
  if (result.is_error) out.plain_key("isError").boolean(true);
}

void write_caching(JsonWriter& out, const Caching& caching) {
  out.plain_key("ttlMs").milliseconds(caching.ttl);
  out.plain_key("cacheScope").plain_text(to_text(caching.scope));
}

void write_resource_result(JsonWriter& out, const ResourceResult& result, Era era) {
  out.plain_key("contents").begin_array();
  for (const ResourceContents& contents : result.contents) ContentWriter(out).contents(contents);
  out.end_array();
  if (era == Era::kModern) write_caching(out, result.caching);
}

void write_prompt_result(JsonWriter& out, const PromptResult& result) {
  if (!result.description.empty()) out.plain_key("description").text(result.description);
  out.plain_key("messages").begin_array();
  for (const PromptMessage& message : result.messages) {
    out.begin_object().plain_key("role").plain_text(to_text(message.role)).plain_key("content");
    std::visit(ContentWriter(out), message.content);
    out.end_object();
  }
  out.end_array();
}

void write_other_result(JsonWriter& out, const OtherResult& result) {
  const std::optional<JsonTree> tree = object_in(result.members);
  CHECK(tree);
  for (std::uint32_t key = 1; key < (*tree)[0].end; key = (*tree)[key + 1].end) {
    out.key(text_of((*tree)[key]).value_or(""));
    copy_json(*tree, key + 1, out);
  }
}

void write_input_required(JsonWriter& out, const InputRequired& result) {
  CHECK(!result.questions.empty() || !result.state.empty());
  if (!result.questions.empty()) {
    out.plain_key("inputRequests").begin_object();
    for (const auto& [name, question] : result.questions) {
      out.key(name).begin_object();
      out.plain_key("method").plain_text(method_of(question.ability));
      out.plain_key("params").json(question.params).end_object();
    }
    out.end_object();
  }
  if (!result.state.empty()) out.plain_key("requestState").text(result.state);
}

// Without `mode`, which clients of before 2025-11-25 do not know: a form is what is meant.
Question form(std::string_view message, std::string_view schema) {
  JsonWriter params;
  params.begin_object().plain_key("message").text(message);
  params.plain_key("requestedSchema").json(schema).end_object();
  return {Ability::kForm, params.take()};
}

Reply read_reply(std::string_view json) {
  const std::optional<JsonTree> tree = object_in(json);
  if (!tree) return {};
  const Object reply(*tree, 0);
  const auto action = parse_word<Action>(reply.text("action").value_or(""));
  if (!action) return {};
  const bool has_content = *action == Action::kAccept && reply.has_object("content");
  return {*action, has_content ? reply.json("content", "") : ""};
}

std::string answer_named(std::string_view name, std::string_view answers) {
  const std::optional<JsonTree> tree = object_in(answers);
  return tree ? Object(*tree, 0).json(name, "") : "";
}

}  // namespace berth::mcp
