// SPDX-License-Identifier: Apache-2.0
// A server of the Model Context Protocol that offers what the official conformance suite
// (@modelcontextprotocol/conformance) asks every server for: of what Berth offers itself the suite
// knows nothing. All but these tools is what `berth mcp --http` is made of. Prints its address, and
// asks for no token, which the suite cannot send.
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agents/http_service.h"
#include "agents/tool_host.h"
#include "http/loopback.h"

namespace berth {
namespace {

using agents::News;
using Json = nlohmann::json;

// One red point, and no sound.
constexpr std::string_view kPng =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg"
    "==";
constexpr std::string_view kWav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
constexpr std::string_view kState = "state-of-the-fixture";  // Known to it alone.

mcp::Question sampling(std::string_view prompt, int tokens) {
  const Json params = {
      {"messages", {{{"role", "user"}, {"content", {{"type", "text"}, {"text", prompt}}}}}},
      {"maxTokens", tokens}};
  return {.ability = mcp::Ability::kSampling, .params = params.dump()};
}
mcp::Question roots() {
  return {.ability = mcp::Ability::kRoots, .params = "{}"};
}
mcp::Question asks_for(std::string_view message, std::string_view field, const char* type) {
  const Json schema = {{"type", "object"},
                       {"properties", {{std::string(field), {{"type", type}}}}},
                       {"required", {field}}};
  return mcp::form(message, schema.dump());
}
mcp::ToolResult text(std::string sentence) {
  return {.content = {mcp::Text{std::move(sentence)}}};
}
mcp::ResourceContents resource(std::string uri, std::string type, std::string content) {
  return {.uri = std::move(uri),
          .mime_type = std::move(type),
          .contents = mcp::Text{std::move(content)}};
}

const std::string kNoArguments = R"({"type":"object","properties":{}})";

std::string one_text(const std::string& name) {
  return Json{
      {"type", "object"}, {"properties", {{name, {{"type", "string"}}}}}, {"required", {name}}}
      .dump();
}

void add_resources_and_prompts(mcp::Catalog& catalog) {
  catalog.resources = {
      {.uri = "test://static-text", .name = "static-text", .mime_type = "text/plain"},
      {.uri = "test://static-binary", .name = "static-binary", .mime_type = "image/png"},
      {.uri = "test://watched-resource", .name = "watched-resource", .mime_type = "text/plain"}};
  catalog.templates = {{.uri_template = "test://template/{id}/data",
                        .name = "template",
                        .mime_type = "application/json"}};
  catalog.prompts = {
      {.name = "test_simple_prompt"},
      {.name = "test_prompt_with_arguments",
       .arguments = {{.name = "arg1", .is_required = true}, {.name = "arg2", .is_required = true}}},
      {.name = "test_prompt_with_embedded_resource",
       .arguments = {{.name = "resourceUri", .is_required = true}}},
      {.name = "test_prompt_with_image"},
      {.name = "test_input_required_result_prompt"}};
  for (mcp::Prompt& prompt : catalog.prompts) prompt.description = "Of the suite.";
}

mcp::Catalog fixture_catalog() {
  mcp::Catalog catalog{.name = "berth-fixture", .version = "1.0", .tells_of_changes = true};
  for (const char* name : {"test_simple_text",
                           "test_image_content",
                           "test_audio_content",
                           "test_embedded_resource",
                           "test_multiple_content_types",
                           "test_tool_with_logging",
                           "test_error_handling",
                           "test_tool_with_progress",
                           "test_elicitation_sep1034_defaults",
                           "test_elicitation_sep1330_enums",
                           "test_missing_capability",
                           "test_streaming_elicitation",
                           "test_logging_tool",
                           "test_input_required_result_elicitation",
                           "test_input_required_result_sampling",
                           "test_input_required_result_list_roots",
                           "test_input_required_result_request_state",
                           "test_input_required_result_multiple_inputs",
                           "test_input_required_result_multi_round",
                           "test_input_required_result_tampered_state",
                           "test_input_required_result_capabilities"}) {
    catalog.tools.push_back({.name = name,
                             .title = name,
                             .description = "Of the suite.",
                             .input_schema = kNoArguments});
  }
  catalog.tools.push_back({.name = "test_sampling",
                           .title = "test_sampling",
                           .description = "Of the suite.",
                           .input_schema = one_text("prompt")});
  catalog.tools.push_back({.name = "test_elicitation",
                           .title = "test_elicitation",
                           .description = "Of the suite.",
                           .input_schema = one_text("message")});
  catalog.tools.push_back(
      {.name = "json_schema_2020_12_tool",
       .title = "json_schema_2020_12_tool",
       .description = "Tool with JSON Schema 2020-12 features",
       .input_schema =
           R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",)"
           R"("$defs":{"address":{"$anchor":"addressDef","type":"object","properties":)"
           R"({"street":{"type":"string"},"city":{"type":"string"}}}},"properties":)"
           R"({"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":)"
           R"({"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":)"
           R"({"type":"string"}},"allOf":[{"anyOf":[{"required":["phone"]},)"
           R"({"required":["email"]}]}],"if":{"properties":{"contactMethod":)"
           R"({"const":"phone"}},"required":["contactMethod"]},)"
           R"("then":{"required":["phone"]},"else":{"required":["email"]},)"
           R"("additionalProperties":false})"});
  add_resources_and_prompts(catalog);
  catalog.others = {{.name = "logging/setLevel", .capability = "logging", .only_legacy = true},
                    {.name = "completion/complete", .capability = "completions"}};
  return catalog;
}

class Fixture final : public agents::ToolHost {
 public:
  void begin(const mcp::BeginCall& call, Instant now) override {
    now_ = now;
    switch (call.target) {
      case mcp::Target::kTool:
        return tool(call);
      case mcp::Target::kResource:
        return finish(call.call, read(call.name));
      case mcp::Target::kPrompt:
        return finish(call.call, prompt(call));
      case mcp::Target::kOther:
        return finish(call.call, mcp::OtherResult{
                                     call.name == "completion/complete"
                                         ? R"({"completion":{"values":["paris"],"hasMore":false}})"
                                         : "{}"});
    }
  }
  void cancel(mcp::CallId call) override { asked_.erase(call); }
  void answered(const mcp::Answered& answer, Instant now) override {
    now_ = now;
    const auto found = asked_.find(answer.call);
    if (found == asked_.end()) return;
    const Json said = answer.answer.empty() ? Json::object() : Json::parse(answer.answer);
    if (found->second == "test_sampling") {
      return finish(answer.call, text("LLM response: " + said["content"].value("text", "")));
    }
    const std::string begin =
        found->second == "test_elicitation" ? "User response: " : "Elicitation completed: ";
    finish(answer.call, text(begin + "action=" + said.value("action", "cancel") +
                             ", content=" + said.value("content", Json::object()).dump()));
  }
  void look(Instant now) override { now_ = now; }

  std::vector<News> take_news() override {
    std::vector<News> due;
    while (!later_.empty() && later_.begin()->first <= now_) {
      due.push_back(std::move(later_.begin()->second));
      later_.erase(later_.begin());
    }
    return due;
  }
  std::vector<int> descriptors() const override { return {}; }
  Instant wake_at() const override {
    return later_.empty() ? Instant::never() : later_.begin()->first;
  }

 private:
  void say(Duration after, News news) { later_.emplace(now_ + after, std::move(news)); }
  void finish(mcp::CallId call, mcp::Outcome outcome, Duration after = {}) {
    say(after, agents::Finished{call, std::move(outcome)});
  }
  void ask(const mcp::BeginCall& call, const mcp::Question& question) {
    if (call.era == mcp::Era::kModern) {
      return finish(call.call, mcp::InputRequired{.questions = {{"answer", question}}});
    }
    if (!call.client.can(question.ability)) {
      return finish(call.call, mcp::ToolResult{.content = {mcp::Text{"the client cannot be asked"}},
                                               .is_error = true});
    }
    asked_.emplace(call.call, call.name);
    say({}, agents::Asks{call.call, question});
  }
  void log(mcp::CallId call, Duration after, const char* message) {
    const Json params = {{"level", "info"}, {"logger", "fixture"}, {"data", message}};
    say(after, agents::Tells{call, "notifications/message", params.dump()});
  }

  // Of a tool that always says the same.
  static std::optional<mcp::ToolResult> content_of(const std::string& name) {
    const mcp::Image image{std::string(kPng), "image/png"};
    if (name == "test_simple_text" || name == "test_logging_tool") {
      return text("This is a simple text response for testing.");
    }
    if (name == "test_image_content") return mcp::ToolResult{.content = {image}};
    if (name == "test_audio_content") {
      return mcp::ToolResult{.content = {mcp::Audio{std::string(kWav), "audio/wav"}}};
    }
    if (name == "test_embedded_resource") {
      return mcp::ToolResult{.content = {resource("test://embedded-resource", "text/plain",
                                                  "This is an embedded resource content.")}};
    }
    if (name == "test_multiple_content_types") {
      return mcp::ToolResult{
          .content = {mcp::Text{"Multiple content types test:"}, image,
                      resource("test://mixed-content-resource", "application/json",
                               R"({"test":"data","value":123})")}};
    }
    if (name == "test_error_handling") {
      return mcp::ToolResult{
          .content = {mcp::Text{"This tool intentionally returns an error for testing"}},
          .is_error = true};
    }
    return std::nullopt;
  }

  void tool(const mcp::BeginCall& call) {
    const Json arguments = Json::parse(call.arguments);
    const std::string& name = call.name;
    if (name.starts_with("test_input_required_result_")) return needs_input(call);
    if (const auto content = content_of(name)) return finish(call.call, *content);
    if (name == "test_tool_with_progress") {
      for (const int done : {0, 50, 100}) {
        say(milliseconds(done),
            agents::Advanced{call.call, {.done = static_cast<double>(done), .total = 100}});
      }
      return finish(call.call, text("Done."), milliseconds(120));
    }
    if (name == "test_tool_with_logging") {
      log(call.call, {}, "Tool execution started");
      log(call.call, milliseconds(50), "Tool processing data");
      log(call.call, milliseconds(100), "Tool execution completed");
      return finish(call.call, text("Done."), milliseconds(120));
    }
    if (name == "test_sampling") return ask(call, sampling(arguments.value("prompt", ""), 100));
    if (name == "test_missing_capability") return ask(call, sampling("Anything?", 10));
    if (name == "test_elicitation") {
      return ask(call, mcp::form(arguments.value("message", ""),
                                 R"({"type":"object","properties":{"username":{"type":"string",)"
                                 R"("description":"User's response"},"email":{"type":"string",)"
                                 R"("description":"User's email address"}},)"
                                 R"("required":["username","email"]})"));
    }
    if (name == "test_elicitation_sep1034_defaults") {
      return ask(call, mcp::form("With defaults",
                                 R"({"type":"object","properties":{"name":{"type":"string",)"
                                 R"("default":"John Doe"},"age":{"type":"integer","default":30},)"
                                 R"("score":{"type":"number","default":95.5},"status":{"type":)"
                                 R"("string","enum":["active","inactive","pending"],"default":)"
                                 R"("active"},"verified":{"type":"boolean","default":true}},)"
                                 R"("required":[]})"));
    }
    if (name == "test_elicitation_sep1330_enums") {
      return ask(
          call,
          mcp::form(
              "With choices",
              R"({"type":"object","properties":{"untitledSingle":{"type":"string","enum":)"
              R"(["option1","option2","option3"]},"titledSingle":{"type":"string","oneOf":)"
              R"([{"const":"value1","title":"First Option"},{"const":"value2","title":)"
              R"("Second Option"},{"const":"value3","title":"Third Option"}]},"legacyEnum":)"
              R"({"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One",)"
              R"("Option Two","Option Three"]},"untitledMulti":{"type":"array","items":)"
              R"({"type":"string","enum":["option1","option2","option3"]}},"titledMulti":)"
              R"({"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},)"
              R"({"const":"value2","title":"Second Choice"},{"const":"value3","title":)"
              R"("Third Choice"}]}}},"required":[]})"));
    }
    ask(call, asks_for("Go on?", "ok", "boolean"));
  }

  // Rounds of questions: each is answered by the same call again.
  void needs_input(const mcp::BeginCall& call) {
    const std::string which = call.name.substr(std::string("test_input_required_result_").size());
    const auto answer = [&](const char* name) { return mcp::answer_named(name, call.answers); };
    const auto content = [&](const char* name) {
      const mcp::Reply reply = mcp::read_reply(answer(name));
      return reply.content.empty() ? Json::object() : Json::parse(reply.content);
    };
    const auto require = [&](std::vector<std::pair<std::string, mcp::Question>> questions,
                             std::string state = {}) {
      finish(call.call, mcp::InputRequired{std::move(questions), std::move(state)});
    };
    const bool is_known_state = call.state == kState;
    if (!call.state.empty() && !is_known_state && which != "multi_round") {
      return finish(call.call, mcp::Fault{mcp::Code::kInvalidParams, "requestState is not ours"});
    }
    const std::pair<std::string, mcp::Question> name = {
        "user_name", asks_for("What is your name?", "name", "string")};
    if (which == "elicitation") {
      const std::string who = content("user_name").value("name", "");
      return who.empty() ? require({name}) : finish(call.call, text("Hello, " + who + "!"));
    }
    if (which == "sampling") {
      if (answer("capital_question").empty()) {
        return require({{"capital_question", sampling("What is the capital of France?", 100)}});
      }
      const Json said = Json::parse(answer("capital_question"));
      return finish(call.call, text(said["content"].value("text", "")));
    }
    if (which == "list_roots") {
      if (answer("client_roots").empty()) return require({{"client_roots", roots()}});
      return finish(call.call, text("Roots: " + answer("client_roots")));
    }
    if (which == "request_state" || which == "tampered_state") {
      const std::pair<std::string, mcp::Question> confirm = {
          "confirm", asks_for("Please confirm", "ok", "boolean")};
      if (answer("confirm").empty() || !is_known_state) {
        return require({confirm}, std::string(kState));
      }
      return finish(call.call, text("state-ok"));
    }
    if (which == "multiple_inputs") {
      if (call.answers.empty()) {
        return require(
            {name, {"greeting", sampling("Generate a greeting", 50)}, {"client_roots", roots()}},
            std::string(kState));
      }
      return finish(call.call, text("All three were answered."));
    }
    if (which == "multi_round") {
      if (call.state.empty()) {
        return require({{"step1", asks_for("Step 1: What is your name?", "name", "string")}},
                       "round-1");
      }
      if (call.state == "round-1") {
        return require(
            {{"step2", asks_for("Step 2: What is your favorite color?", "color", "string")}},
            "round-2");
      }
      return finish(call.call, text("Done with " + content("step2").value("color", "no") + "."));
    }
    // Only what this client can be asked for.
    std::vector<std::pair<std::string, mcp::Question>> possible;
    if (call.client.can(mcp::Ability::kForm)) possible.push_back(name);
    if (call.client.can(mcp::Ability::kSampling)) {
      possible.emplace_back("greeting", sampling("Generate a greeting", 50));
    }
    if (possible.empty() || !call.answers.empty()) return finish(call.call, text("Nothing asked."));
    require(std::move(possible));
  }

  mcp::Outcome read(const std::string& uri) {
    if (uri == "test://static-binary") {
      return mcp::ResourceResult{
          {{.uri = uri, .mime_type = "image/png", .contents = mcp::Blob{std::string(kPng)}}}};
    }
    if (const auto id = mcp::variables_of("test://template/{id}/data", uri)) {
      const Json content = {
          {"id", id->front()}, {"templateTest", true}, {"data", "Data for ID: " + id->front()}};
      return mcp::ResourceResult{{resource(uri, "application/json", content.dump())}};
    }
    return mcp::ResourceResult{
        {resource(uri, "text/plain", "This is the content of the static text resource.")}};
  }

  mcp::Outcome prompt(const mcp::BeginCall& call) {
    const Json arguments = Json::parse(call.arguments);
    const auto user = [](mcp::Content content) {
      return mcp::PromptMessage{mcp::Role::kUser, std::move(content)};
    };
    if (call.name == "test_prompt_with_arguments") {
      return mcp::PromptResult{.messages = {user(mcp::Text{
                                   "Prompt with arguments: arg1='" + arguments.value("arg1", "") +
                                   "', arg2='" + arguments.value("arg2", "") + "'"})}};
    }
    if (call.name == "test_prompt_with_embedded_resource") {
      return mcp::PromptResult{
          .messages = {user(resource(arguments.value("resourceUri", ""), "text/plain",
                                     "Embedded resource content for testing.")),
                       user(mcp::Text{"Please process the embedded resource above."})}};
    }
    if (call.name == "test_prompt_with_image") {
      return mcp::PromptResult{.messages = {user(mcp::Image{std::string(kPng), "image/png"}),
                                            user(mcp::Text{"Please analyze the image above."})}};
    }
    if (call.name == "test_input_required_result_prompt" &&
        mcp::answer_named("user_context", call.answers).empty()) {
      return mcp::InputRequired{
          {{"user_context", asks_for("What context should the prompt use?", "context", "string")}}};
    }
    return mcp::PromptResult{.messages = {user(mcp::Text{"This is a simple prompt for testing."})}};
  }

  Instant now_;
  std::multimap<Instant, News> later_;
  std::map<mcp::CallId, std::string> asked_;
};

int serve() {
  Result<http::LoopbackSocket> listening = http::listen_on_loopback(0);
  if (!listening.ok()) {
    std::fprintf(stderr, "mcp_fixture: %s\n", listening.error().message.c_str());
    return 1;
  }
  std::printf("http://127.0.0.1:%u/mcp\n", unsigned{listening->port});
  std::fflush(stdout);
  const mcp::Catalog catalog = fixture_catalog();
  Fixture fixture;
  agents::HttpService service({.catalog = catalog,
                               .tools = fixture,
                               .listening = std::move(listening->socket),
                               .door = wire::Door{.port = listening->port, .needs_secret = false}});
  service.run();
  return 0;
}

}  // namespace
}  // namespace berth

int main() {
  return berth::serve();
}
