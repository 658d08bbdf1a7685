// SPDX-License-Identifier: Apache-2.0
// The endpoint of a server of the Model Context Protocol over HTTP («Streamable HTTP»), as a pure
// machine: requests and what became of calls go in, answers and calls come out. Who may come in is
// decided before (wire/door.h). Not shared between threads.
//
// Note [Sessions over HTTP]
//
// A request of the modern era says all that is to be known of its client, so that each is served by
// a connection of its own; that its client disconnects cancels it. Of the legacy era `initialize`
// said it once: its answer names a session, under which the connection is kept for later requests,
// until the client ends it or more clients come than there is room for. To disconnect cancels
// nothing there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mcp/catalog.h"
#include "mcp/connection.h"
#include "mcp/effect.h"
#include "mcp/message.h"
#include "mcp/outcome.h"

namespace berth::mcp {

inline constexpr std::size_t kSessionsMax = 64;
inline constexpr std::string_view kEndpointPath = "/mcp";
inline constexpr std::string_view kSessionHeader = "Mcp-Session-Id";

/// One request over HTTP, until it is answered; never used again.
struct ExchangeId {
  std::uint64_t value = 0;
  friend auto operator<=>(const ExchangeId&, const ExchangeId&) = default;
};

struct Exchange {
  std::string_view method;
  std::string_view path;  // Without its query.
  std::string_view body;
  /// The value of a header, whatever the case of its name.
  std::function<std::optional<std::string_view>(std::string_view)> header;
  bool takes_events = false;  // It accepts text/event-stream.
};

/// The whole answer.
struct HttpReply {
  ExchangeId exchange;
  std::uint16_t status = 200;
  std::string body = {};     // JSON; empty: there is none.
  std::string session = {};  // For kSessionHeader; empty: none.
};
/// A message on the stream that is the answer; the first begins it.
struct HttpEvent {
  ExchangeId exchange;
  std::string line;
  bool is_last = false;
};
using EndpointEffect = std::variant<HttpReply, HttpEvent, BeginCall, CancelCall, Answered>;
using EndpointEffects = std::vector<EndpointEffect>;

class Endpoint {
 public:
  /// The catalog must be sound, and outlive it. `new_session` returns names that nobody can guess.
  Endpoint(const Catalog& catalog, std::function<std::string()> new_session);
  ~Endpoint();

  EndpointEffects receive(ExchangeId exchange, const Exchange& request);
  /// Its client has disconnected.
  EndpointEffects on_disconnect(ExchangeId exchange);

  // As those of a Connection.

  EndpointEffects progress(CallId call, const Progress& progress);
  EndpointEffects tell(CallId call, std::string_view method, std::string_view params);
  EndpointEffects ask(CallId call, const Question& question);
  EndpointEffects finish(CallId call, const Outcome& outcome);
  EndpointEffects resource_changed(std::string_view uri);
  EndpointEffects close();

  std::size_t sessions() const { return sessions_.size(); }

 private:
  using PeerId = std::uint64_t;
  struct Peer;
  struct Waiting;
  struct Place {
    PeerId peer = 0;
    CallId call;  // As the peer's connection numbers it.
  };

  EndpointEffects take_request(ExchangeId exchange, const Exchange& request,
                               const Message& message);
  EndpointEffects take_other(ExchangeId exchange, const Exchange& request);
  EndpointEffects end_session(ExchangeId exchange, const Exchange& request);
  std::variant<PeerId, HttpReply> peer_for(ExchangeId exchange, const Exchange& request,
                                           const Message& message);
  PeerId add_peer(std::string session);
  bool make_room();
  Peer* session_of(const Exchange& request);
  EndpointEffects drop(PeerId id);
  void forget_if_done(PeerId id);

  EndpointEffects perform(PeerId id, const Effects& effects);
  void send(Peer& peer, const Send& message, EndpointEffects& into);
  std::optional<CallId> known_as(PeerId peer, CallId call) const;
  template <class Act>
  EndpointEffects with_call(CallId call, const Act& act);

  const Catalog& catalog_;
  std::function<std::string()> new_session_;
  std::map<PeerId, std::unique_ptr<Peer>> peers_;
  std::map<std::string, PeerId, std::less<>> sessions_;
  std::map<ExchangeId, PeerId> exchanges_;
  std::map<CallId, Place> calls_;
  std::uint64_t last_peer_ = 0;
  std::uint64_t last_call_ = 0;
  std::uint64_t last_use_ = 0;
};

}  // namespace berth::mcp
