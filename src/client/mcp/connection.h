// SPDX-License-Identifier: Apache-2.0
// One client's connection to a server of the Model Context Protocol, as a pure machine: lines and
// what became of calls go in, effects come out. It answers by itself what the catalog answers, and
// keeps who is to hear of what; it calls nothing. Not shared between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/json_writer.h"
#include "mcp/answer.h"
#include "mcp/catalog.h"
#include "mcp/client.h"
#include "mcp/effect.h"
#include "mcp/fault.h"
#include "mcp/message.h"
#include "mcp/outcome.h"
#include "mcp/subscriptions.h"

namespace berth::mcp {

inline constexpr std::size_t kCallsMax = 32;  // At once.

struct Progress {
  double done = 0;
  std::optional<double> total = {};
  std::string message = {};
};

class Connection {
 public:
  /// The catalog must be sound, and outlive it.
  explicit Connection(const Catalog& catalog);

  /// One line, with or without its end.
  Effects receive(std::string_view line);

  // Of calls that have begun. Of one that is over or was cancelled nothing is sent.

  /// Told where the client asked for it, and only what is more than before.
  Effects progress(CallId call, const Progress& progress);
  /// A notification that belongs to the call; `params` is an object as JSON.
  Effects tell(CallId call, std::string_view method, std::string_view params);
  /// Of the legacy era, one at a time, and only what the client can. An Answered comes of it,
  /// unless the call ends before.
  Effects ask(CallId call, const Question& question);
  Effects finish(CallId call, const Outcome& outcome);

  /// Told to clients that subscribed to it.
  Effects resource_changed(std::string_view uri);
  /// Nothing more will be received: subscriptions end, and calls are cancelled.
  Effects close();

  bool has_calls() const { return !calls_.empty(); }

 private:
  struct Request;
  struct Method;
  using Answer = std::variant<Effects, Fault>;
  using Listing = void (*)(JsonWriter&, const Catalog&);
  struct Call {
    Id id;
    Era era = Era::kModern;
    Target target = Target::kTool;
    std::string name;
    Client client;
    std::optional<Id> token = {};                // Of its progress.
    std::optional<double> done = {};             // The last progress that was told.
    std::optional<std::uint64_t> question = {};  // The id of what the client is being asked.
  };

  static const Method* method_named(std::string_view name);
  Answer take_request(const Message& message);
  Effects take_response(const Message& response);
  Effects cancel(const Id& id);
  Era era_of(const Message& message, const Method* method) const;
  bool is_under_way(const Id& id) const;
  Call* call_of(CallId call);

  Answer discover(const Request& request);
  Answer initialize(const Request& request);
  Answer ping(const Request& request);
  Answer list(const Request& request, Listing write);
  Answer subscribe(const Request& request);
  Answer unsubscribe(const Request& request);
  Answer listen(const Request& request);
  Answer call_tool(const Request& request);
  Answer read_resource(const Request& request);
  Answer get_prompt(const Request& request);
  Answer call_other(const Request& request);
  Answer begin(const Request& request, BeginCall call);
  Effects answered(const Request& request, const Members& members) const;

  Send result(const Call& call, const ToolResult& of) const;
  Send result(const Call& call, const ResourceResult& of) const;
  Send result(const Call& call, const NotFound& of) const;
  Send result(const Call& call, const PromptResult& of) const;
  Send result(const Call& call, const OtherResult& of) const;
  Send result(const Call& call, const InputRequired& of) const;
  Send result(const Call& call, const Fault& of) const;

  const Catalog& catalog_;
  std::optional<Client> legacy_;  // As it described itself by `initialize`.
  std::map<CallId, Call> calls_;
  Subscriptions subscriptions_;
  std::uint64_t last_call_ = 0;
  std::uint64_t last_question_ = 0;
};

}  // namespace berth::mcp
