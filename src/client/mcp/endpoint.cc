// SPDX-License-Identifier: Apache-2.0
#include "mcp/endpoint.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "mcp/answer.h"
#include "mcp/client.h"
#include "mcp/fault.h"

namespace berth::mcp {

/// A request that is not answered yet.
struct Endpoint::Waiting {
  ExchangeId exchange;
  bool takes_events = false;
  bool has_begun = false;  // Its stream.
  bool is_first = false;   // `initialize`, whose answer names the session.
};

struct Endpoint::Peer {
  Peer(const Catalog& catalog, std::string name) : connection(catalog), session(std::move(name)) {}

  Connection connection;
  const std::string session;                    // Empty: it is of one request, of the modern era.
  std::map<std::string, Waiting> waiting = {};  // By the id of the request, as JSON.
  std::uint64_t used = 0;
};

namespace {

// See the transport of the revision 2026-07-28, «Standard request headers».
constexpr std::string_view kVersionHeader = "MCP-Protocol-Version";
constexpr std::string_view kMethodHeader = "Mcp-Method";
constexpr std::string_view kNameHeader = "Mcp-Name";

EndpointEffects just(EndpointEffect effect) {
  EndpointEffects effects;
  effects.push_back(std::move(effect));
  return effects;
}

HttpReply refusal(ExchangeId exchange, std::uint16_t status, const std::optional<Id>& id,
                  const Fault& fault) {
  return {.exchange = exchange, .status = status, .body = error_line(id, fault)};
}

// The methods that only the modern era has.
bool is_modern_request(const Exchange& request, const Message& message) {
  constexpr std::array<std::string_view, 2> kOnlyModern = {"server/discover",
                                                           "subscriptions/listen"};
  const auto version = request.header(kVersionHeader).value_or("");
  return is_modern(message.params()) || std::ranges::count(kOnlyModern, message.method) > 0 ||
         std::ranges::count(kModernVersions, version) > 0;
}

Fault mismatch(std::string_view header, std::string_view what) {
  return {Code::kHeaderMismatch,
          "the header " + std::string(header) + " must be " + std::string(what)};
}

// What a proxy reads in the headers has to be what is done here.
std::optional<Fault> fault_of_headers(const Exchange& request, const Message& message) {
  const Object params = message.params();
  const std::optional<std::string> version = params.object("_meta").text(meta::kVersion);
  if (version && request.header(kVersionHeader) != version) {
    return mismatch(kVersionHeader, "the version that params._meta names");
  }
  if (request.header(kMethodHeader) != message.method) {
    return mismatch(kMethodHeader, "the method of the request");
  }
  constexpr std::array<std::string_view, 2> kNamed = {"tools/call", "prompts/get"};
  const bool has_name = std::ranges::count(kNamed, message.method) > 0;
  if (!has_name && message.method != "resources/read") return std::nullopt;
  const std::string_view field = has_name ? "name" : "uri";
  const std::optional<std::string> name = params.text(field);
  if (!name || request.header(kNameHeader) == name) return std::nullopt;
  return mismatch(kNameHeader, "params." + std::string(field));
}

std::uint16_t status_of(const Send& message, bool is_legacy) {
  if (is_legacy || !message.error) return 200;
  switch (*message.error) {
    case Code::kMethodNotFound:
      return 404;
    case Code::kMissingCapability:
    case Code::kUnsupportedVersion:
    case Code::kHeaderMismatch:
      return 400;
    default:
      return 200;
  }
}

}  // namespace

Endpoint::Endpoint(const Catalog& catalog, std::function<std::string()> new_session)
    : catalog_(catalog), new_session_(std::move(new_session)) {}

Endpoint::~Endpoint() = default;

// ---- What comes.

EndpointEffects Endpoint::receive(ExchangeId exchange, const Exchange& request) {
  if (request.path != kEndpointPath) {
    return just(refusal(exchange, 404, std::nullopt,
                        {Code::kInvalidRequest, "there is only " + std::string(kEndpointPath)}));
  }
  if (request.method == "DELETE") return end_session(exchange, request);
  if (request.method != "POST") {
    return just(
        refusal(exchange, 405, std::nullopt, {Code::kInvalidRequest, "messages are sent by POST"}));
  }
  const auto read = read_message(request.body);
  if (const auto* wrong = std::get_if<Unreadable>(&read)) {
    return just(refusal(exchange, 400, wrong->id, wrong->fault));
  }
  const auto& message = std::get<Message>(read);
  const bool is_request = message.kind == Message::Kind::kRequest;
  return is_request ? take_request(exchange, request, message) : take_other(exchange, request);
}

EndpointEffects Endpoint::take_request(ExchangeId exchange, const Exchange& request,
                                       const Message& message) {
  CHECK(message.id);
  auto found = peer_for(exchange, request, message);
  if (auto* refused = std::get_if<HttpReply>(&found)) return just(std::move(*refused));
  const PeerId id = std::get<PeerId>(found);
  Peer& peer = *peers_.at(id);
  // Answers are told apart by the id alone.
  if (peer.waiting.contains(message.id->json)) {
    return just(refusal(exchange, 400, message.id,
                        {Code::kInvalidRequest, "a request with this id is under way"}));
  }
  peer.used = ++last_use_;
  peer.waiting.emplace(message.id->json, Waiting{.exchange = exchange,
                                                 .takes_events = request.takes_events,
                                                 .is_first = message.method == "initialize"});
  exchanges_.emplace(exchange, id);
  EndpointEffects effects = perform(id, peer.connection.receive(request.body));
  forget_if_done(id);
  return effects;
}

// Notifications, and answers to what a client was asked.
EndpointEffects Endpoint::take_other(ExchangeId exchange, const Exchange& request) {
  EndpointEffects effects;
  if (Peer* const peer = session_of(request)) {
    peer->used = ++last_use_;
    effects =
        perform(sessions_.find(peer->session)->second, peer->connection.receive(request.body));
  } else if (request.header(kSessionHeader)) {
    return just(HttpReply{.exchange = exchange, .status = 404});
  }
  effects.emplace_back(HttpReply{.exchange = exchange, .status = 202});
  return effects;
}

EndpointEffects Endpoint::end_session(ExchangeId exchange, const Exchange& request) {
  Peer* const peer = session_of(request);
  if (peer == nullptr) return just(HttpReply{.exchange = exchange, .status = 404});
  EndpointEffects effects = drop(sessions_.find(peer->session)->second);
  effects.emplace_back(HttpReply{.exchange = exchange, .status = 200});
  return effects;
}

// See Note [Sessions over HTTP].
std::variant<Endpoint::PeerId, HttpReply> Endpoint::peer_for(ExchangeId exchange,
                                                             const Exchange& request,
                                                             const Message& message) {
  if (is_modern_request(request, message)) {
    const auto version = message.params().object("_meta").text(meta::kVersion);
    std::optional<Fault> fault;
    // One that says nothing of itself is told that first.
    if (version) fault = fault_of_headers(request, message);
    const auto client = modern_client(message.params());
    if (!fault && std::holds_alternative<Fault>(client)) fault = std::get<Fault>(client);
    if (fault) return refusal(exchange, 400, message.id, *fault);
    return add_peer("");
  }
  if (message.method == "initialize") {
    if (!make_room()) {
      return refusal(exchange, 503, message.id, full("sessions", kSessionsMax));
    }
    return add_peer(new_session_());
  }
  if (const Peer* const peer = session_of(request)) return sessions_.find(peer->session)->second;
  if (request.header(kSessionHeader)) {
    return refusal(exchange, 404, message.id,
                   {Code::kInvalidRequest, "there is no such session: initialize again"});
  }
  return refusal(exchange, 400, message.id,
                 {Code::kInvalidRequest, "this needs " + std::string(kSessionHeader) +
                                             " as initialize answered it, or "
                                             "params._meta of the revision " +
                                             std::string(kModernVersions.front())});
}

Endpoint::PeerId Endpoint::add_peer(std::string session) {
  const PeerId id = ++last_peer_;
  if (!session.empty()) CHECK(sessions_.emplace(session, id).second);
  peers_.emplace(id, std::make_unique<Peer>(catalog_, std::move(session)));
  return id;
}

// For one session more. The one that was used longest ago goes, if nothing of it is under way.
bool Endpoint::make_room() {
  if (sessions_.size() < kSessionsMax) return true;
  const Peer* oldest = nullptr;
  for (const auto& [name, id] : sessions_) {
    const Peer& peer = *peers_.at(id);
    if (!peer.waiting.empty() || peer.connection.has_calls()) continue;
    if (oldest == nullptr || peer.used < oldest->used) oldest = &peer;
  }
  if (oldest == nullptr) return false;
  drop(sessions_.find(oldest->session)->second);
  return true;
}

Endpoint::Peer* Endpoint::session_of(const Exchange& request) {
  const auto name = request.header(kSessionHeader);
  const auto found = name ? sessions_.find(*name) : sessions_.end();
  return found == sessions_.end() ? nullptr : peers_.at(found->second).get();
}

EndpointEffects Endpoint::drop(PeerId id) {
  Peer& peer = *peers_.at(id);
  EndpointEffects effects = perform(id, peer.connection.close());
  // Of legacy calls nothing is sent any more; clients may still wait.
  for (const auto& [request, waiting] : peer.waiting) {
    exchanges_.erase(waiting.exchange);
    if (waiting.has_begun) {
      effects.emplace_back(HttpEvent{.exchange = waiting.exchange, .line = {}, .is_last = true});
    } else {
      effects.emplace_back(HttpReply{.exchange = waiting.exchange, .status = 404});
    }
  }
  sessions_.erase(peer.session);
  peers_.erase(id);
  return effects;
}

// What was of one request is over with it.
void Endpoint::forget_if_done(PeerId id) {
  const Peer& peer = *peers_.at(id);
  if (peer.session.empty() && peer.waiting.empty()) peers_.erase(id);
}

EndpointEffects Endpoint::on_disconnect(ExchangeId exchange) {
  const auto found = exchanges_.find(exchange);
  if (found == exchanges_.end()) return {};
  const PeerId id = found->second;
  exchanges_.erase(found);
  Peer& peer = *peers_.at(id);
  std::erase_if(peer.waiting, [&](const auto& one) { return one.second.exchange == exchange; });
  if (!peer.session.empty()) return {};
  EndpointEffects effects = perform(id, peer.connection.close());
  peers_.erase(id);
  return effects;
}

// ---- What becomes of calls.

template <class Act>
EndpointEffects Endpoint::with_call(CallId call, const Act& act) {
  const auto found = calls_.find(call);
  if (found == calls_.end()) return {};
  const Place place = found->second;
  return perform(place.peer, act(peers_.at(place.peer)->connection, place.call));
}

EndpointEffects Endpoint::progress(CallId call, const Progress& progress) {
  return with_call(
      call, [&](Connection& connection, CallId its) { return connection.progress(its, progress); });
}

EndpointEffects Endpoint::tell(CallId call, std::string_view method, std::string_view params) {
  return with_call(call, [&](Connection& connection, CallId its) {
    return connection.tell(its, method, params);
  });
}

EndpointEffects Endpoint::ask(CallId call, const Question& question) {
  return with_call(
      call, [&](Connection& connection, CallId its) { return connection.ask(its, question); });
}

EndpointEffects Endpoint::finish(CallId call, const Outcome& outcome) {
  const auto found = calls_.find(call);
  if (found == calls_.end()) return {};
  const Place place = found->second;
  calls_.erase(found);
  EndpointEffects effects =
      perform(place.peer, peers_.at(place.peer)->connection.finish(place.call, outcome));
  forget_if_done(place.peer);
  return effects;
}

EndpointEffects Endpoint::resource_changed(std::string_view uri) {
  EndpointEffects effects;
  for (const auto& [id, peer] : peers_) {
    EndpointEffects more = perform(id, peer->connection.resource_changed(uri));
    std::ranges::move(more, std::back_inserter(effects));
  }
  return effects;
}

EndpointEffects Endpoint::close() {
  EndpointEffects effects;
  while (!peers_.empty()) {
    EndpointEffects more = drop(peers_.begin()->first);
    std::ranges::move(more, std::back_inserter(effects));
  }
  return effects;
}

// ---- What goes out.

std::optional<CallId> Endpoint::known_as(PeerId peer, CallId call) const {
  for (const auto& [known, place] : calls_) {
    if (place.peer == peer && place.call == call) return known;
  }
  return std::nullopt;
}

EndpointEffects Endpoint::perform(PeerId id, const Effects& effects) {
  EndpointEffects into;
  Peer& peer = *peers_.at(id);
  for (const Effect& effect : effects) {
    if (const auto* message = std::get_if<Send>(&effect)) {
      send(peer, *message, into);
    } else if (const auto* begun = std::get_if<BeginCall>(&effect)) {
      BeginCall call = *begun;
      call.call = CallId{++last_call_};
      calls_.emplace(call.call, Place{.peer = id, .call = begun->call});
      into.emplace_back(std::move(call));
    } else if (const auto* cancelled = std::get_if<CancelCall>(&effect)) {
      const std::optional<CallId> call = known_as(id, cancelled->call);
      if (!call) continue;
      calls_.erase(*call);
      into.emplace_back(CancelCall{*call});
    } else if (const auto* answered = std::get_if<Answered>(&effect)) {
      const std::optional<CallId> call = known_as(id, answered->call);
      if (call) into.emplace_back(Answered{*call, answered->answer});
    }
  }
  return into;
}

// What belongs to no request has no stream here.
void Endpoint::send(Peer& peer, const Send& message, EndpointEffects& into) {
  const auto found = peer.waiting.find(message.request);
  if (found == peer.waiting.end()) return;
  Waiting& waiting = found->second;
  const bool is_whole = message.is_last && !waiting.has_begun;
  if (is_whole) {
    into.emplace_back(HttpReply{.exchange = waiting.exchange,
                                .status = status_of(message, !peer.session.empty()),
                                .body = message.line,
                                .session = waiting.is_first && !message.error ? peer.session : ""});
  } else if (waiting.takes_events) {
    waiting.has_begun = true;
    into.emplace_back(HttpEvent{waiting.exchange, message.line, message.is_last});
  }
  if (!message.is_last) return;
  exchanges_.erase(waiting.exchange);
  peer.waiting.erase(found);
}

}  // namespace berth::mcp
