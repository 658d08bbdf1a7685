// SPDX-License-Identifier: Apache-2.0
// `berth daemon`: starts, stops and looks at the daemon. Stopping it ends no job: the leases are in
// its journal, and the next daemon finds their processes again.
#include "cli/render/daemon.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "cli/output_mode.h"
#include "cli/settings.h"
#include "cli/verbs.h"
#include "os/files.h"
#include "os/paths.h"
#include "os/processes.h"
#include "wire/daemon.h"

namespace berth::cli {
namespace {

constexpr int kStopWithinMs = 15'000;

struct LogsArgs {
  std::string action;
  std::optional<std::uint32_t> lines;
  bool follow = false;
};

int status(Invocation& invocation, OutputMode& output_mode) {
  invocation.common.autostart = false;
  return output_mode.open_and_show([&] {
    return output_mode.answer_text(
        {.route = wire::Route::kDaemon}, {}, wire::decode_daemon,
        [&](wire::DaemonView& daemon) { return daemon_text(daemon, output_mode.context()); });
  });
}

std::optional<wire::ServerHello> ask_version(DaemonSession& session) {
  return session.ask({.route = wire::Route::kVersion}, wire::decode_version);
}

void tell(const wire::ServerHello& daemon, const std::string& what) {
  complain("berth: the daemon (pid " + std::to_string(daemon.pid) + ") " + what +
           (daemon.simulated ? " (the GPU is simulated)\n" : "\n"));
}

int start(const Invocation& invocation) {
  DaemonSession session(invocation);
  const auto found = session.find();
  if (found == DaemonSession::Found::kFailed) return session.status();
  const bool runs_already = found == DaemonSession::Found::kDaemon;
  if (!runs_already && !session.open(client::Autostart::kIfNeeded)) {
    return session.status();
  }
  if (const auto daemon = ask_version(session)) {
    tell(*daemon, runs_already ? "runs already" : "runs");
  }
  return session.status();
}

// Whether the process at the other end of the connection ended in time.
bool has_ended(const Result<os::Peer>& peer) {
  if (!peer.ok() || !peer->pidfd) return true;  // In a PID namespace that is not ours.
  pollfd ended{.fd = peer->pidfd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&ended, 1, kStopWithinMs) != 0;
}

int stop(const Invocation& invocation) {
  DaemonSession session(invocation);
  const auto found = session.find();
  if (found == DaemonSession::Found::kNobody) complain("berth: no daemon runs here\n");
  if (found != DaemonSession::Found::kDaemon) return session.status();
  const auto daemon = ask_version(session);
  if (!daemon) return session.status();
  const auto peer = os::peer_of(session.client().connection().descriptor());
  if (!session.ask({.route = wire::Route::kDaemonStop})) {
    return session.status();
  }
  if (!has_ended(peer)) {
    return invocation.fail(ExitCode::kFailed, "the daemon (pid " + std::to_string(daemon->pid) +
                                                  ") was told to stop and has not ended yet");
  }
  tell(*daemon, "has stopped; programs that hold leases run on");
  return session.status();
}

// An invalid configuration is not taken, and ends with the status of an invalid configuration.
int reload(const Invocation& invocation) {
  DaemonSession session(invocation);
  if (!session.open(client::Autostart::kNever)) return session.status();
  const auto daemon = ask_version(session);
  if (!daemon) return session.status();
  const auto answer = session.client().connection().ask({.route = wire::Route::kDaemonReload});
  if (!answer.ok()) return invocation.fail(ExitCode::kUnavailable, answer.error().message);
  if (!answer->ok()) {
    const wire::ApiError error = wire::decode_error(answer->body);
    const bool invalid = error.code == to_text(RefusalCode::kInvalid);
    return invocation.fail(invalid ? ExitCode::kConfig : wire::exit_code(error.code),
                           error.message);
  }
  tell(*daemon, "has reloaded its configuration");
  return session.status();
}

// A daemon that started by itself writes to its state directory. Only one that could not start left
// its last words where it was to be.
std::string newest_log(const os::Paths& paths) {
  const std::string path = paths.state_dir + "/berthd.log";
  std::string last_words = paths.runtime_dir + "/berthd.log";
  std::error_code none;
  const auto written = std::filesystem::last_write_time(path, none);
  if (none) return last_words;
  const auto died = std::filesystem::last_write_time(last_words, none);
  return !none && died > written ? last_words : path;
}

int logs(Invocation& invocation, const LogsArgs& asked) {
  const auto config = settings_of(invocation, Complain::kNo);
  const auto paths =
      os::paths_of(os::read_environment(), os::Mode::kUser, config ? config->daemon.state_dir : "");
  if (!paths.ok()) return invocation.fail(paths.error());
  const std::string path = newest_log(*paths);
  if (!os::exists(path)) {
    return invocation.fail(ExitCode::kNoInput,
                           "there is no " + path +
                               ": no daemon was started by itself here (that of "
                               "the system writes to the journal: journalctl -u berthd)");
  }
  const std::string lines = std::to_string(asked.lines.value_or(50));
  static_cast<void>(flush());
  ::execlp("tail", "tail", "-n", lines.c_str(), asked.follow ? "-F" : "--", path.c_str(), nullptr);
  return invocation.fail(ExitCode::kOsError,
                         "cannot run tail: " + std::string(std::strerror(errno)));
}

}  // namespace

int run_daemon(Invocation& invocation) {
  OutputMode output_mode(invocation);
  LogsArgs asked;
  invocation.about =
      "A daemon of your own starts by itself when a verb needs one, and none of the system's runs. "
      "Stopping it ends no program: leases are in its journal, and the daemon that is started next "
      "finds their programs again.\n"
      "  start   if none runs\n"
      "  stop    returns when it has ended; without one, nothing is done\n"
      "  status  what it says of itself; 69 without one\n"
      "  reload  reads the configuration again, or keeps the old one if the new is invalid (78)\n"
      "  logs    what a daemon that started by itself wrote";
  invocation.examples = {{"berth daemon status --json", "its pid and more, for a program"}};
  invocation.options.operand("ACTION", store(asked.action), "what to do",
                             {"start", "stop", "status", "reload", "logs"});
  invocation.options.add("-n,--lines=N", store(asked.lines), "logs: how many lines");
  invocation.options.add("-f,--follow", store(asked.follow), "logs: go on as they come");
  output_mode.declare(Watching::kYes);
  if (const auto end = invocation.parse()) return *end;
  if (asked.action == "status") return status(invocation, output_mode);
  if (output_mode.choice().format_given) {
    return invocation.usage_error(asked.action +
                                  " prints text only; --json, --csv and -o are for status");
  }
  if (asked.action == "start") return start(invocation);
  if (asked.action == "stop") return stop(invocation);
  if (asked.action == "reload") return reload(invocation);
  return logs(invocation, asked);
}

}  // namespace berth::cli
