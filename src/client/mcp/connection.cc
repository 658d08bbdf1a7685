// SPDX-License-Identifier: Apache-2.0
#include "mcp/connection.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/number.h"
#include "mcp/listing.h"
#include "wire/json_reader.h"

namespace berth::mcp {

struct Connection::Request {
  const Id& id;
  std::string method;
  Object params;
  Era era = Era::kModern;
  Client client;
};

/// What is answered, in which era, and where the catalog has what for.
struct Connection::Method {
  std::string_view name;
  std::optional<Era> only;
  bool (*is_offered)(const Catalog&);
  Answer (Connection::*answer)(const Request&);
  Listing list = nullptr;  // Instead of `answer`.
};

namespace {

bool always(const Catalog& /*catalog*/) {
  return true;
}
bool has_tools(const Catalog& catalog) {
  return !catalog.tools.empty();
}
bool has_prompts(const Catalog& catalog) {
  return !catalog.prompts.empty();
}
bool has_resources(const Catalog& catalog) {
  return catalog.has_resources();
}
bool tells_of_changes(const Catalog& catalog) {
  return catalog.has_resources() && catalog.tells_of_changes;
}

Effects just(Effect effect) {
  Effects effects;
  effects.push_back(std::move(effect));
  return effects;
}

Fault must_be(std::string_view field, std::string_view what) {
  return invalid("'" + std::string(field) + "' must be " + std::string(what));
}

// Empty: they are what the prompt takes.
std::string fault_of(const Prompt& prompt, const Object& arguments) {
  std::string fault;
  arguments.for_each([&](std::string_view name, bool is_text) {
    if (!is_text) fault = "the argument '" + wire::shown(name) + "' must be text";
  });
  for (const PromptArgument& argument : prompt.arguments) {
    if (argument.is_required && !arguments.has(argument.name)) {
      fault = "the argument '" + argument.name + "' is missing";
    }
  }
  return fault;
}

}  // namespace

Connection::Connection(const Catalog& catalog) : catalog_(catalog) {
  CHECK(is_sound(catalog));
}

const Connection::Method* Connection::method_named(std::string_view name) {
  using C = Connection;
  static constexpr auto kMethods = std::to_array<Method>({
      {"server/discover", Era::kModern, always, &C::discover},
      {"initialize", Era::kLegacy, always, &C::initialize},
      {"ping", Era::kLegacy, always, &C::ping},
      {"tools/list", std::nullopt, has_tools, nullptr, write_tools},
      {"tools/call", std::nullopt, has_tools, &C::call_tool},
      {"resources/list", std::nullopt, has_resources, nullptr, write_resources},
      {"resources/templates/list", std::nullopt, has_resources, nullptr, write_templates},
      {"resources/read", std::nullopt, has_resources, &C::read_resource},
      {"resources/subscribe", Era::kLegacy, tells_of_changes, &C::subscribe},
      {"resources/unsubscribe", Era::kLegacy, tells_of_changes, &C::unsubscribe},
      {"subscriptions/listen", Era::kModern, tells_of_changes, &C::listen},
      {"prompts/list", std::nullopt, has_prompts, nullptr, write_prompts},
      {"prompts/get", std::nullopt, has_prompts, &C::get_prompt},
  });
  const auto* const found = std::ranges::find(kMethods, name, &Method::name);
  return found == kMethods.end() ? nullptr : found;
}

// ---- What comes.

Effects Connection::receive(std::string_view line) {
  if (line.find_first_not_of(" \t\r\n") == std::string_view::npos) return {};
  const auto read = read_message(line);
  if (const auto* wrong = std::get_if<Unreadable>(&read)) {
    return just(refused(wrong->id, wrong->fault));
  }
  const auto& message = std::get<Message>(read);
  switch (message.kind) {
    case Message::Kind::kRequest: {
      Answer answer = take_request(message);
      if (auto* effects = std::get_if<Effects>(&answer)) return std::move(*effects);
      return just(refused(message.id, std::get<Fault>(answer)));
    }
    case Message::Kind::kResponse:
      return take_response(message);
    case Message::Kind::kNotification: {
      const std::optional<Id> id = message.params().id("requestId");
      return id && message.method == "notifications/cancelled" ? cancel(*id) : Effects();
    }
  }
  std::unreachable();
}

Connection::Answer Connection::take_request(const Message& message) {
  CHECK(message.id);
  const Id& id = *message.id;
  if (is_under_way(id)) {
    return Fault{Code::kInvalidRequest, "a request with this id is under way"};
  }
  const Method* const method = method_named(message.method);
  const Era era = era_of(message, method);
  Client client = legacy_.value_or(Client());
  if (era == Era::kModern) {
    auto said = modern_client(message.params());
    if (auto* fault = std::get_if<Fault>(&said)) return std::move(*fault);
    client = std::get<Client>(std::move(said));
  }
  const Request request = {id, message.method, message.params(), era, std::move(client)};
  if (method == nullptr) return call_other(request);
  if (method->only.value_or(era) != era || !method->is_offered(catalog_)) {
    return no_method(message.method);
  }
  return method->list != nullptr ? list(request, method->list) : (this->*method->answer)(request);
}

// What is of neither is held to be modern, and lacks what each request has there.
Era Connection::era_of(const Message& message, const Method* method) const {
  if (is_modern(message.params())) return Era::kModern;
  if (method != nullptr && method->only == Era::kModern) return Era::kModern;
  const bool opens = message.method == "initialize" || message.method == "ping";
  return legacy_ || opens ? Era::kLegacy : Era::kModern;
}

bool Connection::is_under_way(const Id& id) const {
  return subscriptions_.is_listening(id) ||
         std::ranges::any_of(calls_, [&](const auto& call) { return call.second.id == id; });
}

Effects Connection::cancel(const Id& id) {
  subscriptions_.cancel(id);
  const auto found =
      std::ranges::find_if(calls_, [&](const auto& call) { return call.second.id == id; });
  if (found == calls_.end()) return {};
  const CallId call = found->first;
  calls_.erase(found);
  return just(CancelCall{call});
}

Effects Connection::take_response(const Message& response) {
  const auto id = parse_number<std::uint64_t>(response.id ? response.id->json : "");
  for (auto& [call, state] : calls_) {
    if (!id || state.question != id) continue;
    state.question.reset();
    const Object whole = response.whole();
    return just(Answered{call, whole.has_object("result") ? whole.object("result").json() : ""});
  }
  return {};
}

// ---- What is answered at once.

Effects Connection::answered(const Request& request, const Members& members) const {
  return just(complete(request.id, request.era, catalog_, members));
}

Connection::Answer Connection::discover(const Request& request) {
  return answered(request, [&](JsonWriter& out) {
    write_discovery(out, catalog_);
    write_caching(out, catalog_.caching);
  });
}

Connection::Answer Connection::initialize(const Request& request) {
  const std::optional<std::string> version = request.params.text("protocolVersion");
  if (!version) return must_be("protocolVersion", "text");
  legacy_ = client_of(request.params.object("clientInfo"), request.params.object("capabilities"));
  return answered(request, [&](JsonWriter& out) {
    write_initialized(out, catalog_, legacy_version(*version));
  });
}

Connection::Answer Connection::ping(const Request& request) {
  return answered(request, [](JsonWriter& /*nothing*/) {});
}

// Always whole, so that no cursor is one of ours.
Connection::Answer Connection::list(const Request& request, Listing write) {
  if (request.params.has("cursor")) return invalid("'cursor' is none that this server gave");
  return answered(request, [&](JsonWriter& out) {
    write(out, catalog_);
    if (request.era == Era::kModern) write_caching(out, catalog_.caching);
  });
}

Connection::Answer Connection::subscribe(const Request& request) {
  const std::optional<std::string> uri = request.params.text("uri");
  if (!uri) return must_be("uri", "text");
  if (!catalog_.has_resource(*uri)) return no_resource(request.era, *uri);
  if (std::optional<Fault> fault = subscriptions_.subscribe(*uri)) return *std::move(fault);
  return answered(request, [](JsonWriter& /*nothing*/) {});
}

Connection::Answer Connection::unsubscribe(const Request& request) {
  const std::optional<std::string> uri = request.params.text("uri");
  if (!uri) return must_be("uri", "text");
  subscriptions_.unsubscribe(*uri);
  return answered(request, [](JsonWriter& /*nothing*/) {});
}

// What else may change does not here, and is left out of what is acknowledged.
Connection::Answer Connection::listen(const Request& request) {
  if (!request.params.has_object("notifications")) return must_be("notifications", "an object");
  const Object wanted = request.params.object("notifications");
  const auto texts = wanted.texts("resourceSubscriptions");
  if (!texts && wanted.has("resourceSubscriptions")) {
    return must_be("resourceSubscriptions", "an array of text");
  }
  Subscriptions::Uris uris;
  for (const std::string& uri : texts.value_or(std::vector<std::string>())) {
    if (catalog_.has_resource(uri)) uris.insert(uri);
  }
  auto first = subscriptions_.listen(request.id, std::move(uris));
  if (auto* fault = std::get_if<Fault>(&first)) return std::move(*fault);
  return just(std::get<Send>(std::move(first)));
}

// ---- Calls.

Connection::Answer Connection::call_tool(const Request& request) {
  const std::optional<std::string> name = request.params.text("name");
  if (!name) return must_be("name", "text");
  if (catalog_.tool(*name) == nullptr) {
    return invalid("there is no tool '" + wire::shown(*name) + "'");
  }
  if (request.params.has("arguments") && !request.params.has_object("arguments")) {
    return must_be("arguments", "an object");
  }
  return begin(request, {.target = Target::kTool,
                         .name = *name,
                         .arguments = request.params.json("arguments", "{}")});
}

Connection::Answer Connection::read_resource(const Request& request) {
  const std::optional<std::string> uri = request.params.text("uri");
  if (!uri) return must_be("uri", "text");
  if (!catalog_.has_resource(*uri)) return no_resource(request.era, *uri);
  return begin(request, {.target = Target::kResource, .name = *uri});
}

Connection::Answer Connection::get_prompt(const Request& request) {
  const std::optional<std::string> name = request.params.text("name");
  if (!name) return must_be("name", "text");
  const Prompt* const prompt = catalog_.prompt(*name);
  if (prompt == nullptr) return invalid("there is no prompt '" + wire::shown(*name) + "'");
  const Object arguments = request.params.object("arguments");
  std::string fault = fault_of(*prompt, arguments);
  if (!fault.empty()) return invalid(std::move(fault));
  return begin(request, {.target = Target::kPrompt, .name = *name, .arguments = arguments.json()});
}

Connection::Answer Connection::call_other(const Request& request) {
  const auto other = std::ranges::find(catalog_.others, request.method, &OtherMethod::name);
  if (other == catalog_.others.end() || (other->only_legacy && request.era == Era::kModern)) {
    return no_method(request.method);
  }
  return begin(
      request,
      {.target = Target::kOther, .name = request.method, .arguments = request.params.json()});
}

Connection::Answer Connection::begin(const Request& request, BeginCall call) {
  const Object& params = request.params;
  const Object meta = params.object("_meta");
  const std::optional<Id> token = meta.id("progressToken");
  if (!token && meta.has("progressToken"))
    return must_be("progressToken", "text or a whole number");
  if (request.era == Era::kModern) {
    call.answers = params.has_object("inputResponses") ? params.json("inputResponses", "") : "";
    if (call.answers.empty() && params.has("inputResponses")) {
      return must_be("inputResponses", "an object");
    }
    const std::optional<std::string> state = params.text("requestState");
    if (!state && params.has("requestState")) return must_be("requestState", "text");
    call.state = state.value_or("");
  }
  if (calls_.size() == kCallsMax) return full("calls under way", kCallsMax);
  call.call = CallId{++last_call_};
  call.era = request.era;
  call.client = request.client;
  call.wants_progress = token.has_value();
  calls_.emplace(call.call, Call{.id = request.id,
                                 .era = request.era,
                                 .target = call.target,
                                 .name = call.name,
                                 .client = request.client,
                                 .token = token});
  return just(std::move(call));
}

Connection::Call* Connection::call_of(CallId call) {
  const auto found = calls_.find(call);
  return found == calls_.end() ? nullptr : &found->second;
}

Effects Connection::progress(CallId call, const Progress& progress) {
  Call* const state = call_of(call);
  if (state == nullptr || !state->token) return {};
  if (state->done && progress.done <= *state->done) return {};
  state->done = progress.done;
  JsonWriter params;
  params.begin_object().plain_key("progressToken").json(state->token->json);
  params.plain_key("progress").real(progress.done);
  if (progress.total) params.plain_key("total").real(progress.total);
  if (!progress.message.empty()) params.plain_key("message").text(progress.message);
  return tell(call, "notifications/progress", params.end_object().take());
}

Effects Connection::tell(CallId call, std::string_view method, std::string_view params) {
  const Call* const state = call_of(call);
  if (state == nullptr) return {};
  return just(Send{notification_line(method, params), state->id.json});
}

Effects Connection::ask(CallId call, const Question& question) {
  Call* const state = call_of(call);
  if (state == nullptr) return {};
  CHECK(state->era == Era::kLegacy && state->client.can(question.ability) && !state->question);
  state->question = ++last_question_;
  const std::string_view method = method_of(question.ability);
  return just(Send{request_line(*state->question, method, question.params), state->id.json});
}

Effects Connection::finish(CallId call, const Outcome& outcome) {
  const auto found = calls_.find(call);
  if (found == calls_.end()) return {};
  const Call state = std::move(found->second);
  calls_.erase(found);
  Effects effects;
  if (state.question) {  // Its user need not answer any more.
    const std::string params = R"({"requestId":)" + std::to_string(*state.question) + "}";
    effects.emplace_back(Send{notification_line("notifications/cancelled", params), state.id.json});
  }
  effects.emplace_back(std::visit([&](const auto& of) { return result(state, of); }, outcome));
  return effects;
}

// ---- Results of calls.

Send Connection::result(const Call& call, const ToolResult& of) const {
  CHECK(call.target == Target::kTool);
  return complete(call.id, call.era, catalog_, [&](auto& out) { write_tool_result(out, of); });
}

Send Connection::result(const Call& call, const ResourceResult& of) const {
  CHECK(call.target == Target::kResource && !of.contents.empty());
  return complete(call.id, call.era, catalog_,
                  [&](auto& out) { write_resource_result(out, of, call.era); });
}

Send Connection::result(const Call& call, const NotFound& /*of*/) const {
  CHECK(call.target == Target::kResource);
  return refused(call.id, no_resource(call.era, call.name));
}

Send Connection::result(const Call& call, const PromptResult& of) const {
  CHECK(call.target == Target::kPrompt);
  return complete(call.id, call.era, catalog_, [&](auto& out) { write_prompt_result(out, of); });
}

Send Connection::result(const Call& call, const OtherResult& of) const {
  CHECK(call.target == Target::kOther);
  return complete(call.id, call.era, catalog_, [&](auto& out) { write_other_result(out, of); });
}

Send Connection::result(const Call& call, const InputRequired& of) const {
  CHECK(call.era == Era::kModern && call.target != Target::kOther);
  for (const auto& [name, question] : of.questions) {
    if (!call.client.can(question.ability)) {
      return refused(call.id, missing_capability(question.ability));
    }
  }
  return input_required(call.id, catalog_, of);
}

Send Connection::result(const Call& call, const Fault& of) const {
  return refused(call.id, of);
}

// ---- What nobody asked for.

Effects Connection::resource_changed(std::string_view uri) {
  std::vector<Send> sends = subscriptions_.changed(uri);
  return {std::make_move_iterator(sends.begin()), std::make_move_iterator(sends.end())};
}

Effects Connection::close() {
  Effects effects;
  for (const Id& id : subscriptions_.close()) effects.emplace_back(listening_ended(id, catalog_));
  for (const auto& [call, state] : calls_) effects.emplace_back(CancelCall{call});
  calls_.clear();
  return effects;
}

}  // namespace berth::mcp
