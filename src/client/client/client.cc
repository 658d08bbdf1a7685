// SPDX-License-Identifier: Apache-2.0
#include "client/client.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/simulated.h"
#include "client/autostart.h"
#include "client/configuration.h"
#include "client/socket.h"
#include "config/load.h"
#include "os/files.h"
#include "os/processes.h"

namespace berth::client {
namespace {

constexpr const char* kDaemonProgram = "berthd";

struct Found {
  std::string path;
  os::UniqueFd socket;
};

Error nobody(const std::vector<std::string>& tried) {
  std::string daemon_paths;
  for (const std::string& path : tried) daemon_paths += (daemon_paths.empty() ? "" : ", ") + path;
  return {Errc::kUnavailable, "no daemon runs here (looked at " + daemon_paths +
                                  "); start one with: berth daemon start"};
}

// The first socket behind which a daemon listens. A socket that is there while nobody listens is
// that of a daemon which died, or is being started again: its path is left in `dead`.
Result<Found> find_listening(const std::vector<std::string>& paths, std::string& dead) {
  for (const std::string& path : paths) {
    Result<os::UniqueFd> socket = connect_to(path);
    if (socket.ok()) return Found{path, *std::move(socket)};
    const Errc code = socket.error().code;
    if (code == Errc::kUnavailable && dead.empty()) dead = path;
    if (code != Errc::kNotFound && code != Errc::kUnavailable) return socket.error();
  }
  return nobody(paths);
}

// Where a daemon that we start would listen: it is not told BERTH_SOCKET.
Result<os::Paths> own_places(os::Environment env) {
  env.socket.clear();
  return os::paths_of(env, os::Mode::kUser, "");
}

// The system's daemon, if it is only away for a moment, is not replaced by one of our own; and one
// of our own is of use only where we would look for it.
Result<bool> may_start(const ClientOptions& options, const std::vector<std::string>& paths,
                       const std::string& dead, const os::Paths& daemon_paths) {
  if (options.autostart == Autostart::kNever ||
      std::ranges::count(paths, daemon_paths.socket) == 0) {
    return false;
  }
  TRY(system, os::paths_of(options.env, os::Mode::kSystem, ""));
  return dead.empty() || dead == daemon_paths.socket || dead != system.socket;
}

// What a daemon would end for at once is told here, with file, line and column.
Status check_configuration(const os::Environment& env) {
  Result<ConfigurationInput> found = find_configuration(env, "", ProjectFile::kIgnore);
  if (!found.ok()) {
    const bool unusable =
        found.error().code == Errc::kNotFound || found.error().code == Errc::kPermission;
    return unusable ? Error{Errc::kInvalid, found.error().message} : found.error();
  }
  found->input.overrides = {};  // The caller's, which a daemon does not get.
  const auto loaded = config::load(found->input);
  const auto* problems = std::get_if<config::Problems>(&loaded);
  if (problems == nullptr) return Unit{};
  std::string lines;
  for (const config::Problem& problem : *problems) lines += "\n  " + to_text(problem);
  return Error{Errc::kInvalid, "no daemon can start, the configuration is invalid:" + lines};
}

std::string variable_in(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return std::string(entry.substr(name.size() + 1));
    }
    environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
  }
  return {};
}

// Under cron, su or ssh the variables that say where a socket lies are others than those of the
// daemon that has our state directory. Its lock names it, and its own variables tell its socket.
std::optional<Found> holder_of_state(const ClientOptions& options, std::string_view complaint) {
  constexpr std::string_view kLockedBy = "is locked by process ";
  constexpr std::size_t kEnvironmentMax = std::size_t{256} << 10U;
  const std::size_t at = complaint.find(kLockedBy);
  if (at == std::string_view::npos || !options.env.runtime_dir.empty()) return {};
  const std::string_view rest = complaint.substr(at + kLockedBy.size());
  const std::string pid(rest.substr(0, rest.find_first_not_of("0123456789")));
  const Result<std::string> environment =
      os::read_file("/proc/" + pid + "/environ", kEnvironmentMax);
  if (!environment.ok()) return {};
  os::Environment theirs = options.env;
  theirs.runtime_dir = variable_in(*environment, "BERTH_RUNTIME_DIR");
  theirs.xdg_runtime_dir = variable_in(*environment, "XDG_RUNTIME_DIR");
  const Result<os::Paths> daemon_paths = own_places(theirs);
  if (!daemon_paths.ok()) return {};
  Result<os::UniqueFd> socket = connect_to(daemon_paths->socket);
  if (!socket.ok()) return {};
  if (options.say) {
    options.say("the daemon listens at " + daemon_paths->socket +
                "; export BERTH_SOCKET=" + daemon_paths->socket + " finds it at once");
  }
  return Found{daemon_paths->socket, *std::move(socket)};
}

Result<Found> start(const ClientOptions& options, const os::Paths& daemon_paths) {
  // No daemon for a world that there cannot be: it would stay behind.
  if (const std::string& world = options.env.sim; !world.empty()) {
    TRY_STATUS(check_simulated_devices(world));
  }
  TRY_STATUS(check_configuration(options.env));
  TRY(program, sibling_program(kDaemonProgram));
  const Result<bool> tried = autostart({.program = program, .paths = daemon_paths});
  if (!tried.ok()) {
    if (auto holder = holder_of_state(options, tried.error().message)) return *std::move(holder);
  }
  TRY(started, tried);
  TRY(socket, connect_patiently(daemon_paths.socket));
  if (started && options.say) options.say("started the daemon " + program);
  if (started && options.say && options.env.sim.empty() && os::in_container()) {
    options.say(
        "this is a container: its daemon sees no process and no lease outside it, only how "
        "much memory they use; to share the host's queue, mount its /run/berth");
  }
  return Found{daemon_paths.socket, std::move(socket)};
}

Result<Found> find_daemon(const ClientOptions& options) {
  TRY(paths, os::sockets_to_try(options.env));
  std::string dead;
  Result<Found> found = find_listening(paths, dead);
  if (found.ok() || found.error().code != Errc::kUnavailable) return found;

  TRY(daemon_paths, own_places(options.env));
  TRY(starting, may_start(options, paths, dead, daemon_paths));
  if (starting) return start(options, daemon_paths);
  if (dead.empty()) return found;
  Result<os::UniqueFd> socket = connect_patiently(dead);
  if (!socket.ok()) return nobody(paths);
  return Found{dead, *std::move(socket)};
}

}  // namespace

Client::Client(std::string socket, wire::ClientHello hello, os::UniqueFd connected)
    : socket_(std::move(socket)),
      hello_(std::move(hello)),
      connection_(std::move(connected), hello_) {}

Result<Client> Client::connect(const ClientOptions& options) {
  TRY(world, os::world_of(options.env));
  TRY(self, os::process_state(::getpid()));
  TRY(found, find_daemon(options));
  wire::ClientHello hello{.version = options.version, .world = world, .process = self.process};
  return Client(std::move(found.path), std::move(hello), std::move(found.socket));
}

Result<Connection> Client::another(Backlog backlog) const {
  TRY(socket, connect_to(socket_, backlog));
  return Connection(std::move(socket), hello_);
}

Status Client::reconnect(Backlog backlog) {
  TRY(socket, connect_to(socket_, backlog));
  connection_ = Connection(std::move(socket), hello_);
  return Unit{};
}

bool autostart_allowed_by_environment() {
  const char* value = std::getenv("BERTH_NO_AUTOSTART");
  return value == nullptr || *value == '\0' || std::string_view(value) == "0";
}

wire::ExitCode exit_status_of(const Error& error) {
  switch (error.code) {
    case Errc::kPermission:
      return wire::ExitCode::kNoPermission;
    case Errc::kVersion:
    case Errc::kCorrupt:
      return wire::ExitCode::kVersion;
    case Errc::kConflict:
    case Errc::kInvalid:
      return wire::ExitCode::kConfig;
    case Errc::kNotFound:
    case Errc::kUnavailable:
    case Errc::kTimedOut:
      return wire::ExitCode::kUnavailable;
    case Errc::kExhausted:
      return wire::ExitCode::kOsError;
    case Errc::kIo:
    case Errc::kFull:
      return wire::ExitCode::kIoError;
    case Errc::kCannotCreate:
      return wire::ExitCode::kCannotCreate;
  }
  return wire::ExitCode::kInternal;
}

}  // namespace berth::client
