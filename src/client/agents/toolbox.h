// SPDX-License-Identifier: Apache-2.0
// The tools that `berth mcp` offers, performed: most of them at once, those that wait when the
// daemon has told what they wait for, or their time is over. Nothing is done for another user than
// the one it runs as, and nothing to leases of another session of theirs before they were asked.
// Not shared between threads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agents/answers.h"
#include "agents/daemon_link.h"
#include "agents/facts.h"
#include "agents/tickets.h"
#include "agents/tool_arguments.h"
#include "base/units.h"
#include "client/client.h"
#include "jobs/job_folder.h"
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
using News = std::variant<Finished, Advanced, Asks>;

class Toolbox {
 public:
  struct Ports {
    client::ClientOptions client;
    Reader reader;
    std::optional<jobs::JobFolder> jobs;
  };
  explicit Toolbox(Ports ports);
  Toolbox(const Toolbox&) = delete;  // Its parts know one another.
  Toolbox& operator=(const Toolbox&) = delete;

  void begin(const mcp::BeginCall& call, Instant now);
  /// Nobody waits for it any more. A request whose ticket was never told is withdrawn.
  void cancel(mcp::CallId call);
  void answered(const mcp::Answered& answer, Instant now);
  /// Looks at what has been told, and at the time.
  void look(Instant now);

  std::vector<News> take_news() { return std::exchange(news_, {}); }
  std::vector<int> descriptors() const;
  Instant wake_at() const;

 private:
  /// One that waits.
  struct Call {
    mcp::BeginCall begun;
    std::optional<Tickets::Number> ticket = {};
    bool is_ticket_told = false;
    std::optional<client::Connection> connection = {};  // By which one long question was asked.
    LeaseId lease = {};                                 // That it is about.
    Instant since;
    Instant until;
    Instant told;  // Its progress, last.
  };
  /// Absent: it waits.
  using Step = std::optional<mcp::Outcome>;
  using Perform = Step (Toolbox::*)(const mcp::BeginCall& call, Instant now);
  struct Row {
    std::string_view name;
    Perform perform;
  };
  static const std::vector<Row>& rows();

  Step status(const mcp::BeginCall& call, Instant now);
  Step check_fit(const mcp::BeginCall& call, Instant now);
  Step acquire(const mcp::BeginCall& call, Instant now);
  Step renew(const mcp::BeginCall& call, Instant now);
  Step release(const mcp::BeginCall& call, Instant now);
  Step run(const mcp::BeginCall& call, Instant now);
  Step job(const mcp::BeginCall& call, Instant now);
  Step control(const mcp::BeginCall& call, Instant now);
  Step message(const mcp::BeginCall& call, Instant now);

  Step wait_for_ticket(Call waits);
  Step look_at_ticket(const Call& call, Instant now);
  Step perform_control(const mcp::BeginCall& call, const ControlArguments& arguments, LeaseId lease,
                       Instant now);
  Step ask_long(const mcp::BeginCall& call, const client::HttpRequest& question, LeaseId lease,
                Duration within, Instant now);
  Step look_at_question(Call& call, Instant now);
  mcp::ToolResult long_answer(const Call& call, const wire::LeaseAnswer& lease, bool is_over) const;
  Answered<wire::LeaseAnswer> find_lease(const LeaseName& name);
  LeaseFacts facts(const wire::LeaseAnswer& lease) const;

  Reader reader_;
  std::optional<jobs::JobFolder> jobs_;
  DaemonLink daemon_;
  Tickets tickets_;
  std::map<mcp::CallId, Call> calls_;
  std::map<LeaseId, std::string> told_of_jobs_;  // What gpu_job said of it last.
  std::vector<News> news_;
};

}  // namespace berth::agents
