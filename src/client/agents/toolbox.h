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
#include <utility>
#include <vector>

#include "agents/answers.h"
#include "agents/daemon_link.h"
#include "agents/facts.h"
#include "agents/starter.h"
#include "agents/tickets.h"
#include "agents/tool_arguments.h"
#include "agents/tool_host.h"
#include "base/units.h"
#include "client/client.h"
#include "jobs/job_folder.h"
#include "mcp/effect.h"
#include "mcp/outcome.h"

namespace berth::agents {

class Toolbox final : public ToolHost {
 public:
  struct Ports {
    client::ClientOptions client;
    Reader reader;
    std::optional<jobs::JobFolder> jobs;
    std::optional<Starter> starter = {};  // Absent: gpu_run starts nothing.
  };
  explicit Toolbox(Ports ports);

  void begin(const mcp::BeginCall& call, Instant now) override;
  /// A request whose ticket was never told is withdrawn.
  void cancel(mcp::CallId call) override;
  void answered(const mcp::Answered& answer, Instant now) override;
  void look(Instant now) override;

  std::vector<News> take_news() override { return std::exchange(news_, {}); }
  std::vector<int> descriptors() const override;
  Instant wake_at() const override;

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
  std::optional<Starter> starter_;
  DaemonLink daemon_;
  Tickets tickets_;
  std::map<mcp::CallId, Call> calls_;
  std::map<LeaseId, std::string> told_of_jobs_;  // What gpu_job said of it last.
  std::vector<News> news_;
};

}  // namespace berth::agents
