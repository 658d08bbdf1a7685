// SPDX-License-Identifier: Apache-2.0
// `berth mcp`: the door for coding agents.
#include <unistd.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "agents/catalog.h"
#include "agents/http_service.h"
#include "agents/server.h"
#include "agents/socket_service.h"
#include "cli/exit_status.h"
#include "cli/settings.h"
#include "cli/verbs.h"
#include "client/autostart.h"
#include "http/listening.h"
#include "http/loopback.h"
#include "os/files.h"
#include "os/paths.h"
#include "os/programs.h"
#include "os/users.h"
#include "wire/door.h"

namespace berth::cli {
namespace {

// The name by which a client's leases are known to be its own.
std::string session_name() {
  const std::string_view named = environment_text("BERTH_SESSION");
  return named.empty() ? "mcp-" + std::to_string(::getpid()) : std::string(named);
}

// All who come by the token are one session: see docs/agents.md.
Status serve_many(agents::Toolbox::Ports ports, const os::Environment& env, std::uint16_t port) {
  TRY(paths, os::paths_of(env, os::Mode::kUser, ""));
  TRY_STATUS(os::make_directories(paths.state_dir));
  const std::string secret_path = paths.state_dir + "/mcp-token";
  TRY(secret, http::secret_in(secret_path));
  TRY(listening, http::listen_on_loopback(port));
  agents::Toolbox tools(std::move(ports));
  const mcp::Catalog catalog = agents::catalog(agents::Running::kLineOnly);
  agents::HttpService service({.catalog = catalog,
                               .tools = tools,
                               .listening = std::move(listening.socket),
                               .door = wire::Door{.port = listening.port, .token = secret}});
  print("http://127.0.0.1:" + std::to_string(listening.port) + "/mcp\n");
  flush();
  complain("berth: clients send the token in " + secret_path + ": Authorization: Bearer TOKEN\n");
  service.run();
  return Unit{};
}

// As on stdio, each client in a process of its own, and so a session of its own.
Status serve_at(const std::string& path, agents::Toolbox::Ports ports) {
  auto listening = http::ListeningSocket::open(path, http::ListeningSocket::Access::kOwner,
                                               {"server", "end it first"});
  if (!listening.ok()) return Error{Errc::kUnavailable, listening.error().message};
  complain("berth: clients connect to " + path + "\n");
  return agents::serve_clients(listening->take(), [&](int connection) {
    ports.reader.session = session_name();
    return agents::Server(std::move(ports), connection, connection).run();
  });
}

}  // namespace

int run_mcp(Invocation& invocation) {
  invocation.about =
      "Speaks the Model Context Protocol on stdin and stdout, for coding agents: which GPUs there "
      "are, whether something would fit, leases to work in from any shell, notes to those who hold "
      "what is needed. Ends when stdin does; requests that wait are "
      "withdrawn then, and what was granted ends when it is not used any more. With --http it "
      "serves any number of clients, and prints its address and where the token is that they need. "
      "With --allow-run agents may have it start commands, as jobs that run outside of their "
      "sandbox and without the questions of their shells; berth setup AGENT --allow-run writes "
      "that into the agent's settings.";
  invocation.examples = {{"berth mcp", "as the command of a server in a client's settings"},
                         {"berth mcp --http 7421", "for clients that only speak HTTP"}};
  std::optional<std::uint32_t> port;
  invocation.options.add("--http=PORT", store(port),
                         "serve clients at http://127.0.0.1:PORT/mcp instead; 0: a free port");
  std::string socket;
  invocation.options.add("--socket=PATH", store(socket),
                         "serve clients at a Unix socket of yours, each as on stdin and stdout");
  bool allow_run = false;
  invocation.options.add("--allow-run", store(allow_run), "let gpu_run start commands");
  if (const auto end = invocation.parse()) return *end;
  if (port && !socket.empty()) return invocation.usage_error("--socket and --http: one of them");
  // They may come from anywhere, a container say, where none of this user's commands should lead.
  if (allow_run && (port || !socket.empty())) {
    return invocation.usage_error(
        "--allow-run: commands are started for the client that started this server alone, and not "
        "with --http or --socket");
  }
  if (port && *port > std::numeric_limits<std::uint16_t>::max()) {
    return invocation.usage_error("--http: there is no port " + std::to_string(*port) +
                                  ": the last one is 65535");
  }
  const auto settings = settings_of(invocation);
  if (!settings) return to_status(ExitCode::kConfig);
  const os::Environment env = os::read_environment();
  const bool may_start = invocation.common.autostart && client::autostart_allowed_by_environment();
  Result<jobs::JobFolder> jobs = jobs::JobFolder::find(env);
  agents::Toolbox::Ports ports = {
      .client = {.env = env,
                 .autostart = may_start ? client::Autostart::kIfNeeded : client::Autostart::kNever,
                 .version = BERTH_VERSION},
      .reader = {.user = os::own_user(),
                 .session = session_name(),
                 .messages = settings->mcp.messages},
      .jobs = jobs.ok() ? std::optional(*std::move(jobs)) : std::nullopt};
  if (allow_run) {
    const Result<std::string> program = os::sibling_program("berth");
    if (!program.ok()) return invocation.fail(program.error());
    ports.starter.emplace(*program);
  }
  if (port) {
    const Status done = serve_many(std::move(ports), env, static_cast<std::uint16_t>(*port));
    return done.ok() ? to_status(ExitCode::kOk) : invocation.fail(done.error());
  }
  if (!socket.empty()) {
    const Status done = serve_at(socket, std::move(ports));
    return done.ok() ? to_status(ExitCode::kOk) : invocation.fail(done.error());
  }
  const Status served = agents::Server(std::move(ports), STDIN_FILENO, STDOUT_FILENO).run();
  return served.ok() ? to_status(ExitCode::kOk) : invocation.fail(served.error());
}

}  // namespace berth::cli
