// SPDX-License-Identifier: Apache-2.0
#include "os/paths.h"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>

#include "base/letters.h"
#include "base/simulated.h"
#include "os/environment.h"
#include "os/files.h"
#include "os/machine.h"
#include "os/users.h"

namespace berth::os {
namespace {

constexpr const char* kRealWorld = "real";
constexpr const char* kSystemRuntime = "/run/berth";
constexpr const char* kSystemState = "/var/lib/berth";
constexpr const char* kLingering = "/var/lib/systemd/linger";  // A file for each user who does.
constexpr const char* kSocketName = "/berthd.sock";
constexpr std::size_t kSocketPathMax = sizeof(sockaddr_un::sun_path) - 1;  // 107, and a zero.
constexpr std::size_t kWorldNameMax = 64;
constexpr std::size_t kFolderFilesMax = 256;
constexpr std::size_t kFoldersMax = 256;  // Looked at on the way up to the root.

// XDG says that a path which is not absolute is to be ignored.
std::string absolute(const std::string& path) {
  return path.starts_with('/') ? path : std::string();
}

bool is_usable_directory(const std::string& path) {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         ::access(path.c_str(), W_OK | X_OK) == 0;
}

// Where nobody does, the user's name need not be known: to ask for it takes as long as all else
// that is read here, and far longer where a name service is asked.
bool does_linger(UserId user) {
  return exists(kLingering) && exists(std::string(kLingering) + "/" + user_name(user));
}

bool is_of_logind(const Environment& env) {
  const std::string own = "/run/user/" + std::to_string(env.user.value);
  return env.xdg_runtime_dir == own || env.xdg_runtime_dir.starts_with(own + "/");
}

std::string fallback_runtime(const Environment& env) {
  return "/tmp/berth-" + std::to_string(env.user.value);
}

// logind wipes its directory at the user's last log-out, while jobs in tmux or under nohup run on:
// it is no place for a daemon unless the user lingers.
std::string user_runtime(const Environment& env) {
  if (!env.runtime_dir.empty()) return env.runtime_dir;
  if (!env.xdg_runtime_dir.empty() && (env.lingers || !is_of_logind(env))) {
    return env.xdg_runtime_dir + "/berth";
  }
  return fallback_runtime(env);
}

std::string user_state(const Environment& env) {
  const std::string base =
      env.xdg_state_home.empty() ? env.home + "/.local/state" : env.xdg_state_home;
  // A home directory may be shared by machines, whose GPUs and processes are not.
  return base + "/berth/" + env.machine_id;
}

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.size() <= kWorldNameMax && name.front() != '.' &&
         std::ranges::all_of(name, [](char c) {
           return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
         });
}

// Client and daemon have different working directories: a relative path would be two places.
Status check_absolute(const std::string& name, const std::string& path) {
  if (path.empty() || path.starts_with('/')) return Unit{};
  return Error{Errc::kInvalid, name + ": '" + path + "' is not an absolute path"};
}

std::string in_world(const std::string& directory, const std::string& world) {
  return world == kRealWorld ? directory : directory + "/sim/" + world;
}

}  // namespace

bool in_container() {
  return exists("/.dockerenv") || exists("/run/.containerenv") ||
         !environment_variable("container").empty() ||
         !environment_variable("KUBERNETES_SERVICE_HOST").empty();
}

Environment read_environment() {
  Environment found;
  found.user = own_user();
  found.home = absolute(environment_variable("HOME"));
  if (found.home.empty()) found.home = home_directory(found.user);
  found.machine_id = machine_id();
  found.runtime_dir = environment_variable("BERTH_RUNTIME_DIR");
  found.socket = environment_variable("BERTH_SOCKET");
  found.config = environment_variable("BERTH_CONFIG");
  found.sim = environment_variable("BERTH_SIM");
  found.sim_name = environment_variable("BERTH_SIM_NAME");
  found.xdg_runtime_dir = absolute(environment_variable("XDG_RUNTIME_DIR"));
  if (!is_usable_directory(found.xdg_runtime_dir)) found.xdg_runtime_dir.clear();
  found.xdg_state_home = absolute(environment_variable("XDG_STATE_HOME"));
  found.xdg_config_home = absolute(environment_variable("XDG_CONFIG_HOME"));
  found.lingers = does_linger(found.user);
  return found;
}

Result<std::string> world_of(const Environment& env) {
  if (env.sim.empty()) return std::string(kRealWorld);
  std::string name = simulated_world_name(env.sim, env.sim_name);
  if (!is_plain_name(name) || name == kRealWorld) {
    return Error{Errc::kInvalid, "BERTH_SIM_NAME: '" + name +
                                     "': a name is 1 to 64 letters, digits, '-', '_' and '.', " +
                                     "does not begin with a point, and is not 'real'"};
  }
  return name;
}

std::string leases_directory(const std::string& socket) {
  constexpr std::string_view kEnd = ".sock";
  return (socket.ends_with(kEnd) ? socket.substr(0, socket.size() - kEnd.size()) : socket) +
         ".leases";
}

Status check_socket_path(const std::string& path) {
  TRY_STATUS(check_absolute("the socket path", path));
  if (path.size() <= kSocketPathMax) return Unit{};
  return Error{Errc::kInvalid,
               "the socket path " + path + " has " + std::to_string(path.size()) +
                   " bytes, and a socket allows " + std::to_string(kSocketPathMax) +
                   ": choose a shorter directory (BERTH_RUNTIME_DIR, BERTH_SOCKET or "
                   "--socket say where)"};
}

Result<Paths> paths_of(const Environment& env, Mode mode, const std::string& state_dir) {
  TRY_STATUS(check_absolute("BERTH_RUNTIME_DIR", env.runtime_dir));
  TRY_STATUS(check_absolute("state_dir", state_dir));
  TRY(world, world_of(env));
  Paths daemon_paths;
  daemon_paths.world = world;
  const bool user = mode == Mode::kUser;
  std::string runtime = user ? user_runtime(env) : kSystemRuntime;
  if (!user && !env.runtime_dir.empty()) runtime = env.runtime_dir;
  std::string state = user ? user_state(env) : kSystemState;
  if (!state_dir.empty()) state = state_dir;
  daemon_paths.runtime_dir = in_world(runtime, world);
  daemon_paths.socket = env.socket.empty() ? daemon_paths.runtime_dir + kSocketName : env.socket;
  daemon_paths.state_dir = in_world(state, world);
  TRY_STATUS(check_socket_path(daemon_paths.socket));
  return daemon_paths;
}

Status make_daemon_directories(const Paths& daemon_paths, Mode mode) {
  if (mode == Mode::kSystem) {
    // All users pass through; the socket's mode says who may connect.
    TRY_STATUS(make_guarded_directory(daemon_paths.runtime_dir, OpenTo::kReaders));
    return make_guarded_directory(daemon_paths.state_dir, OpenTo::kNobody);
  }
  TRY_STATUS(make_own_runtime_directory(daemon_paths));
  return make_private_directory(daemon_paths.state_dir);
}

// That of a simulated world lies two below one that another may have made before, in /tmp.
Status make_own_runtime_directory(const Paths& daemon_paths) {
  TRY_STATUS(make_private_directory(daemon_paths.runtime_dir));
  if (daemon_paths.world == kRealWorld) return Unit{};
  const std::string& path = daemon_paths.runtime_dir;
  const std::string of_real_world = path.substr(0, path.rfind("/sim/"));
  return check_own_directories(of_real_world, path.substr(0, path.rfind('/')));
}

Result<std::vector<std::string>> sockets_to_try(const Environment& env) {
  if (!env.socket.empty()) {
    TRY_STATUS(check_socket_path(env.socket));
    return std::vector{env.socket};
  }
  TRY_STATUS(check_absolute("BERTH_RUNTIME_DIR", env.runtime_dir));
  TRY(world, world_of(env));
  std::vector<std::string> runtimes;
  if (!env.runtime_dir.empty()) {
    runtimes = {env.runtime_dir};
  } else {
    runtimes = {kSystemRuntime, user_runtime(env)};
    // A daemon that was started in another environment (by cron, before lingering was set) is
    // found as well.
    if (!env.xdg_runtime_dir.empty()) {
      runtimes.push_back(env.xdg_runtime_dir + "/berth");
    }
    runtimes.push_back(fallback_runtime(env));
  }
  std::vector<std::string> sockets;
  for (const std::string& runtime : runtimes) {
    std::string socket = in_world(runtime, world) + kSocketName;
    TRY_STATUS(check_socket_path(socket));
    if (std::ranges::find(sockets, socket) == sockets.end()) sockets.push_back(std::move(socket));
  }
  return sockets;
}

ConfigPaths config_paths(const Environment& env) {
  const std::string base =
      env.xdg_config_home.empty() ? env.home + "/.config" : env.xdg_config_home;
  const std::string user = env.config.empty() ? base + "/berth/config.toml" : env.config;
  return {.system_file = "/etc/berth/berth.toml",
          .system_folder = "/etc/berth/conf.d",
          .user_file = user,
          .user_alerts = user.substr(0, user.rfind('/') + 1) + "alerts.toml",
          .system_alerts = "/etc/berth/conf.d/alerts.toml"};
}

std::vector<std::string> machine_config_files(const ConfigPaths& paths) {
  std::vector<std::string> files =
      files_with_extension(paths.system_folder, {".toml"}, kFolderFilesMax);
  files.insert(files.begin(), paths.system_file);
  return files;
}

std::optional<std::string> find_project_config(const std::string& directory,
                                               const std::string& home) {
  std::string at = directory;
  for (std::size_t folders = 0; folders < kFoldersMax && at.starts_with('/'); ++folders) {
    std::string path = (at == "/" ? "" : at) + "/.berth.toml";
    if (exists(path)) return path;
    if (at == home || at == "/" || exists(at + "/.git")) return std::nullopt;
    const std::size_t slash = at.rfind('/');
    at = slash == 0 ? "/" : at.substr(0, slash);
  }
  return std::nullopt;
}

}  // namespace berth::os
