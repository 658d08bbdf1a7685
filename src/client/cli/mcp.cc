// SPDX-License-Identifier: Apache-2.0
// `berth mcp`: the door for coding agents.
#include <unistd.h>

#include <string>

#include "agents/server.h"
#include "cli/verbs.h"
#include "client/autostart.h"
#include "os/paths.h"
#include "os/users.h"

namespace berth::cli {
namespace {

// The name by which a client's leases are known to be its own.
std::string session_name() {
  const std::string_view named = environment_text("BERTH_SESSION");
  return named.empty() ? "mcp-" + std::to_string(::getpid()) : std::string(named);
}

}  // namespace

int run_mcp(Invocation& invocation) {
  invocation.about =
      "Speaks the Model Context Protocol on stdin and stdout, for coding agents: which GPUs there "
      "are, whether something would fit, leases to work in from any shell, notes to those who hold "
      "what is needed. It starts no command. Ends when stdin does; requests that wait are "
      "withdrawn then, and what was granted ends when it is not used any more.";
  invocation.examples = {{"berth mcp", "as the command of a server in a client's settings"}};
  if (const auto end = invocation.parse()) return *end;
  const os::Environment env = os::read_environment();
  const bool may_start = invocation.common.autostart && client::autostart_allowed_by_environment();
  Result<jobs::JobFolder> jobs = jobs::JobFolder::find(env);
  agents::Toolbox::Ports ports = {
      .client = {.env = env,
                 .autostart = may_start ? client::Autostart::kIfNeeded : client::Autostart::kNever,
                 .version = BERTH_VERSION},
      .reader = {.user = os::own_user(), .session = session_name()},
      .jobs = jobs.ok() ? std::optional(*std::move(jobs)) : std::nullopt};
  const Status served = agents::Server(std::move(ports), STDIN_FILENO, STDOUT_FILENO).run();
  return served.ok() ? to_status(ExitCode::kOk) : invocation.fail(served.error());
}

}  // namespace berth::cli
