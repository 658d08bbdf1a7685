// SPDX-License-Identifier: Apache-2.0
// The one who performs the calls of clients, as a server of the protocol sees it.
// Not shared between threads.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/units.h"
#include "mcp/connection.h"
#include "mcp/effect.h"
#include "mcp/outcome.h"

namespace berth::agents {

/// What a call has come to.
struct Finished {
  mcp::CallId call;
  mcp::Outcome outcome;
};
/// How far it is.
struct Advanced {
  mcp::CallId call;
  mcp::Progress progress;
};
/// What its client's user is to be asked, of the legacy era.
struct Asks {
  mcp::CallId call;
  mcp::Question question;
};
/// A notification that belongs to it; `params` is an object as JSON.
struct Tells {
  mcp::CallId call;
  std::string method;
  std::string params;
};
/// A resource is another than it was.
struct Changed {
  std::string uri;
};
using News = std::variant<Finished, Advanced, Asks, Tells, Changed>;

class ToolHost {
 public:
  ToolHost() = default;
  ToolHost(const ToolHost&) = delete;
  ToolHost& operator=(const ToolHost&) = delete;
  virtual ~ToolHost() = default;

  virtual void begin(const mcp::BeginCall& call, Instant now) = 0;
  /// Nobody waits for it any more.
  virtual void cancel(mcp::CallId call) = 0;
  virtual void answered(const mcp::Answered& answer, Instant now) = 0;
  /// Looks at what has been told, and at the time.
  virtual void look(Instant now) = 0;

  virtual std::vector<News> take_news() = 0;
  /// look() is worth a call when one of them can be read, or at wake_at().
  virtual std::vector<int> descriptors() const = 0;
  virtual Instant wake_at() const = 0;
};

}  // namespace berth::agents
