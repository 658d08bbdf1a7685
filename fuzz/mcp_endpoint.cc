// SPDX-License-Identifier: Apache-2.0
// Requests over HTTP, and what becomes of calls between them. A line is a request, its fields apart
// by tabs: method, path, version, method and name in headers, session (a number: the one that was
// given so), whether it takes events, body. Or `F 3` finishes the third call, `D 3` disconnects the
// third request, `P 3` and `A 3` tell and ask. Each request is answered once and then never again.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/json_tree.h"
#include "base/number.h"
#include "fuzz.h"
#include "mcp/endpoint.h"
#include "mcp/outcome.h"
#include "mcp_for_fuzz.h"

namespace {

namespace mcp = berth::mcp;

constexpr std::size_t kFields = 8;
using Fields = std::array<std::string_view, kFields>;

Fields fields_of(std::string_view line) {
  Fields fields;
  for (std::size_t i = 0; i < kFields; ++i) {
    const bool is_last = i + 1 == kFields;
    fields[i] = line.substr(0, is_last ? std::string_view::npos : line.find('\t'));
    line.remove_prefix(std::min(line.size(), fields[i].size() + 1));
  }
  return fields;
}

class Clients {
 public:
  void take(std::string_view line) {
    const auto number =
        berth::parse_number<std::uint64_t>(line.substr(std::min<std::size_t>(2, line.size())));
    const char what = line.size() > 2 && line[1] == ' ' ? line[0] : '\0';
    if (what == 'C') {
      perform(endpoint_.resource_changed(line.substr(2)));
    } else if (what == 'P' && number) {
      perform(endpoint_.progress(mcp::CallId{*number}, {.done = 1, .message = "m"}));
    } else if (what == 'A' && number) {
      ask(mcp::CallId{*number});
    } else if (what == 'F' && number) {
      finish(mcp::CallId{*number});
    } else if (what == 'D' && number) {
      waiting_.erase({*number});
      begun_.erase({*number});
      perform(endpoint_.on_disconnect({*number}));
    } else {
      request(fields_of(line));
    }
    CHECK(endpoint_.sessions() <= mcp::kSessionsMax);
  }
  void close() {
    perform(endpoint_.close());
    CHECK(open_.empty());
    CHECK(endpoint_.resource_changed("x://all").empty());
  }

 private:
  void request(const Fields& fields) {
    const mcp::ExchangeId exchange{++last_};
    waiting_.insert(exchange);
    std::string_view session = fields[5];
    const auto known = berth::parse_number<std::size_t>(session);
    if (known && *known < sessions_.size()) session = sessions_[*known];
    const auto header = [&](std::string_view name) -> std::optional<std::string_view> {
      const auto given = [](std::string_view value) {
        return value.empty() ? std::nullopt : std::optional(value);
      };
      if (name == "MCP-Protocol-Version") return given(fields[2]);
      if (name == "Mcp-Method") return given(fields[3]);
      if (name == "Mcp-Name") return given(fields[4]);
      return name == mcp::kSessionHeader ? given(session) : std::nullopt;
    };
    perform(endpoint_.receive(exchange, {.method = fields[0],
                                         .path = fields[1],
                                         .body = fields[7],
                                         .header = header,
                                         .takes_events = !fields[6].empty()}));
  }
  void finish(mcp::CallId id) {
    const auto open = open_.find(id);
    if (open == open_.end()) {
      CHECK(endpoint_.finish(id, mcp::Fault{}).empty());
      return;
    }
    const mcp::BeginCall call = open->second;
    open_.erase(open);
    asked_.erase(id);
    perform(endpoint_.finish(id, berth::fuzz::outcome_of(call)));
  }
  void ask(mcp::CallId id) {
    const auto open = open_.find(id);
    if (open == open_.end()) return;
    const mcp::BeginCall& call = open->second;
    const mcp::Question question = mcp::form("Who?", call.arguments);
    if (call.era != mcp::Era::kLegacy || !call.client.can(question.ability)) return;
    if (asked_.insert(id).second) perform(endpoint_.ask(id, question));
  }

  void perform(const mcp::EndpointEffects& effects) {
    for (const mcp::EndpointEffect& effect : effects) {
      std::visit([this](const auto& one) { one_effect(one); }, effect);
    }
  }
  void one_effect(const mcp::HttpReply& reply) {
    CHECK(waiting_.erase(reply.exchange) == 1 && !begun_.contains(reply.exchange));
    CHECK(reply.status >= 200 && reply.status < 500);
    CHECK(reply.body.empty() || berth::is_json(reply.body));
    if (!reply.session.empty()) sessions_.push_back(reply.session);
  }
  void one_effect(const mcp::HttpEvent& event) {
    CHECK(waiting_.contains(event.exchange));
    CHECK(event.line.find('\n') == std::string::npos);
    CHECK(event.line.empty() ? event.is_last : berth::is_json(event.line));
    begun_.insert(event.exchange);
    if (!event.is_last) return;
    waiting_.erase(event.exchange);
    begun_.erase(event.exchange);
  }
  void one_effect(const mcp::BeginCall& call) {
    CHECK(berth::is_json(call.arguments));
    CHECK(open_.emplace(call.call, call).second);
  }
  void one_effect(const mcp::CancelCall& cancel) {
    CHECK(open_.erase(cancel.call) == 1);
    asked_.erase(cancel.call);
    CHECK(endpoint_.progress(cancel.call, {.done = 9}).empty());
  }
  void one_effect(const mcp::Answered& answered) { CHECK(asked_.erase(answered.call) == 1); }

  const mcp::Catalog catalog_ = berth::fuzz::mcp_catalog();
  mcp::Endpoint endpoint_{catalog_, [this] { return "s" + std::to_string(++last_session_); }};
  std::uint64_t last_ = 0;
  std::uint64_t last_session_ = 0;
  std::vector<std::string> sessions_;
  std::set<mcp::ExchangeId> waiting_;  // For their answer, or the end of their stream;
  std::set<mcp::ExchangeId> begun_;    // of these, those whose stream has begun.
  std::map<mcp::CallId, mcp::BeginCall> open_;
  std::set<mcp::CallId> asked_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = berth::fuzz::text_of(data, size);
  Clients clients;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    clients.take(line);
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  clients.close();
  return 0;
}
