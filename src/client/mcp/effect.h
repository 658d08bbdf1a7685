// SPDX-License-Identifier: Apache-2.0
// Effects of a connection: what its owner is to do, in their order. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "mcp/client.h"
#include "mcp/fault.h"

namespace berth::mcp {

/// Of a call; never used again.
struct CallId {
  std::uint64_t value = 0;
  friend auto operator<=>(const CallId&, const CallId&) = default;
};

enum class Target : std::uint8_t { kTool, kResource, kPrompt, kOther };

struct Send {
  std::string line;                // Without its end.
  std::string request = {};        // The id of what it belongs to, as JSON; empty: to none.
  std::optional<Code> error = {};  // Why the request was refused.
  bool is_last = false;            // It answers the request: no more will be said of that.
};
/// Connection::finish() is to be called for it, sooner or later.
struct BeginCall {
  CallId call = {};
  Era era = Era::kModern;
  Target target = Target::kTool;
  std::string name;              // Of the tool, prompt or method; the URI of the resource.
  std::string arguments = "{}";  // An object as JSON; the parameters of another method.
  Client client = {};
  bool wants_progress = false;
  std::string answers = {};  // To an InputRequired, an object as JSON; empty: there are none.
  std::string state = {};    // Of that, or what the client says it was.
};
/// Nobody waits for it any more, and nothing is sent of it.
struct CancelCall {
  CallId call;
};
/// What came for Connection::ask().
struct Answered {
  CallId call;
  std::string answer;  // An object as JSON; empty: the client refused.
};
using Effect = std::variant<Send, BeginCall, CancelCall, Answered>;
using Effects = std::vector<Effect>;

}  // namespace berth::mcp
