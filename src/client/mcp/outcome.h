// SPDX-License-Identifier: Apache-2.0
// Outcomes of a call: what the tool, resource or prompt has to say, or what is asked first, and the
// JSON of each. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/json_writer.h"
#include "base/result.h"
#include "mcp/catalog.h"
#include "mcp/client.h"
#include "mcp/fault.h"

namespace berth::mcp {

struct Text {
  std::string text;
};
/// Bytes, in base64.
struct Blob {
  std::string base64;
};
struct ResourceContents {
  std::string uri;
  std::string mime_type = {};
  std::variant<Text, Blob> contents;
};
struct Image {
  std::string base64;
  std::string mime_type;
};
struct Audio {
  std::string base64;
  std::string mime_type;
};
using Content = std::variant<Text, Image, Audio, ResourceContents>;

struct ToolResult {
  std::vector<Content> content = {};
  std::string structured = {};  // As its output schema has it, as JSON; empty: it is text alone.
  bool is_error = false;        // The model is told, and may do better.
};
/// What a tool says of arguments that make no sense, or of what it could not do.
ToolResult failed(const Error& error);

struct ResourceResult {
  std::vector<ResourceContents> contents;
  Caching caching = {};
};
/// No such resource is there just now.
struct NotFound {};

enum class Role : std::uint8_t { kUser, kAssistant };
constexpr auto words_of(Role) {
  using enum Role;
  return make_words<Role>({{kUser, "user"}, {kAssistant, "assistant"}});
}
struct PromptMessage {
  Role role = Role::kUser;
  Content content;
};
struct PromptResult {
  std::string description = {};
  std::vector<PromptMessage> messages;
};

/// Of a method that is none of these: the members of its result, an object as JSON.
struct OtherResult {
  std::string members = "{}";
};

/// What the client, or its user, is to be asked for.
struct Question {
  Ability ability = Ability::kForm;
  std::string params;  // Of the ability's method, as JSON.
};
/// Of the modern era: the client answers these and calls again, with `state`, which is to be taken
/// for a claim of the client's.
struct InputRequired {
  std::vector<std::pair<std::string, Question>> questions;  // By names that the answers will have.
  std::string state = {};                                   // Empty: there is none.
};

/// Fault: the call itself made no sense. What went wrong inside of a tool is a ToolResult.
using Outcome = std::variant<ToolResult, ResourceResult, NotFound, PromptResult, OtherResult,
                             InputRequired, Fault>;

/// The members of a result.
void write_tool_result(JsonWriter& out, const ToolResult& result);
void write_resource_result(JsonWriter& out, const ResourceResult& result, Era era);
void write_prompt_result(JsonWriter& out, const PromptResult& result);
void write_other_result(JsonWriter& out, const OtherResult& result);
void write_input_required(JsonWriter& out, const InputRequired& result);
void write_caching(JsonWriter& out, const Caching& caching);

/// What `message` asks for, with a field for each property of `schema`, as JSON.
Question form(std::string_view message, std::string_view schema);

/// What a user did with a question.
enum class Action : std::uint8_t { kAccept, kDecline, kCancel };
constexpr auto words_of(Action) {
  using enum Action;
  return make_words<Action>({{kAccept, "accept"}, {kDecline, "decline"}, {kCancel, "cancel"}});
}
struct Reply {
  Action action = Action::kCancel;
  std::string content = {};  // What was filled in, an object as JSON; empty: nothing.
};
/// A client's answer to form(). What makes no sense counts as no answer of the user's: kCancel.
Reply read_reply(std::string_view json);
/// Out of all answers to an InputRequired the one of that name, as JSON; empty: there is none.
std::string answer_named(std::string_view name, std::string_view answers);

}  // namespace berth::mcp
