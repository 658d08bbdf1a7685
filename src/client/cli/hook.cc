// SPDX-License-Identifier: Apache-2.0
// `berth hook`: what the hooks of a coding agent call. Nothing that goes wrong here may keep the
// agent from its work: then it answers nothing, and says why on stderr.
#include "setup/hook.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "cli/daemon_session.h"
#include "cli/leases.h"
#include "cli/verbs.h"
#include "os/users.h"
#include "wire/lease.h"
#include "wire/request.h"

namespace berth::cli {
namespace {

constexpr std::size_t kInputMax = 1 << 20;

std::string read_input() {
  std::string text;
  std::array<char, 65'536> block{};
  while (text.size() <= kInputMax) {
    const ssize_t count = ::read(STDIN_FILENO, block.data(), block.size());
    if (count <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(count));
  }
  return text;
}

// Of the session; none where there is no daemon, which is not started for that.
std::vector<LeaseView> leases_of(const std::string& session_name, DaemonSession& session) {
  std::vector<LeaseView> all;
  if (session.find() != DaemonSession::Found::kDaemon) return all;
  const auto pages = ask_leases(session, Leases::kLive);
  const Result<wire::LeaseList> list = pages ? decode_pages(*pages) : wire::LeaseList{};
  if (!list.ok()) return all;
  for (const LeaseView& lease : list->items) {
    const bool is_its = lease.user == os::own_user() && lease.request.session == session_name;
    if (is_its && lease.state == LeaseState::kHeld && !lease.flags.unclaimed) all.push_back(lease);
  }
  return all;
}

int start_session(const std::string& name) {
  // The file that its shells read.
  if (const char* file = std::getenv("CLAUDE_ENV_FILE")) {
    std::ofstream(file, std::ios::app) << setup::session_variables(name);
  }
  print(setup::session_start_answer() + "\n");
  return to_status(ExitCode::kOk);
}

int look_at_tool(const setup::HookInput& input, const std::string& name, DaemonSession& session) {
  // The daemon is asked only where it matters.
  if (setup::pre_tool_use_answer(input, {}).empty()) return to_status(ExitCode::kOk);
  const std::vector<LeaseView> leases = leases_of(name, session);
  const auto lease = leases.empty() ? std::nullopt : std::optional(leases.front().id);
  print(setup::pre_tool_use_answer(input, lease) + "\n");
  return to_status(ExitCode::kOk);
}

// Reservations in which nothing runs: the agent has stopped, and uses them no more.
int stop_session(const std::string& name, DaemonSession& session) {
  for (const LeaseView& lease : leases_of(name, session)) {
    if (!lease.request.ttl || !lease.members.empty()) continue;
    static_cast<void>(session.ask(
        {.route = wire::Route::kRelease, .lease = to_text(lease.handle), .body = ReleaseBody{}}));
  }
  return to_status(ExitCode::kOk);
}

}  // namespace

int run_hook(Invocation& invocation) {
  std::string event;
  invocation.about =
      "Called by the hooks that berth setup adds to a coding agent, with what the agent tells on "
      "stdin. session-start names the session, pre-tool-use turns a GPU command without a lease "
      "into one with a lease, stop gives back reservations of the session in which nothing runs.";
  invocation.examples = {{"berth hook session-start", "as the agent calls it"}};
  invocation.options.operand("EVENT", store(event), "session-start, pre-tool-use or stop",
                             {"session-start", "pre-tool-use", "stop"});
  if (const auto end = invocation.parse()) return *end;
  const Result<setup::HookInput> input = setup::read_hook_input(read_input());
  if (!input.ok()) return invocation.fail(input.error());
  const std::string name = setup::session_name(input->session);
  DaemonSession session(invocation);
  session.be_quiet();
  if (event == "session-start") return start_session(name);
  if (event == "pre-tool-use") return look_at_tool(*input, name, session);
  return stop_session(name, session);
}

}  // namespace berth::cli
