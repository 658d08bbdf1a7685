// SPDX-License-Identifier: Apache-2.0
// Places of the socket, the state and the configuration, in user mode, system mode and simulated
// machines. The environment is read once, into Environment; all else is computed from that. Any
// thread, but the environment only while no other one changes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace berth::os {

enum class Mode : std::uint8_t { kUser, kSystem };

/// What decides about places. Empty strings: not set.
struct Environment {
  UserId user;
  std::string home;
  std::string machine_id;
  std::string runtime_dir;      // BERTH_RUNTIME_DIR
  std::string socket;           // BERTH_SOCKET
  std::string config;           // BERTH_CONFIG
  std::string sim;              // BERTH_SIM: what to simulate
  std::string sim_name;         // BERTH_SIM_NAME
  std::string xdg_runtime_dir;  // XDG_RUNTIME_DIR, if it is a directory of the user's
  std::string xdg_state_home;
  std::string xdg_config_home;
  bool lingers = false;  // logind keeps /run/user/UID after the user's last log-out.
};
Environment read_environment();

/// Whether this process runs in a container, as far as one can tell from inside: the mark of Docker
/// or Podman, or the variable of systemd-nspawn and LXC (`container`) or of Kubernetes.
bool in_container();

/// Where a daemon puts things. Nothing is made or looked at here.
struct Paths {
  std::string world;        // "real", or the name of the simulated world.
  std::string runtime_dir;  // Socket, locks and the files of leases.
  std::string socket;
  std::string state_dir;
};

/// `state_dir`: as configured, or empty. kInvalid where the socket's path is too long for a socket
/// or the world's name is no name.
Result<Paths> paths_of(const Environment& env, Mode mode, const std::string& state_dir);
/// Makes both directories. In user mode they must be private, in system mode nobody else may write
/// to them or put others in their place: kPermission otherwise. In system mode a runtime directory
/// that is made lets all users pass.
Status make_daemon_directories(const Paths& daemon_paths, Mode mode);
/// The runtime directory alone, of a user's own daemon.
Status make_own_runtime_directory(const Paths& daemon_paths);

/// The sockets where a client may find its daemon, in the order to try them. Only the first of
/// BERTH_SOCKET and BERTH_RUNTIME_DIR, where set; else the system's daemon, then the user's own.
Result<std::vector<std::string>> sockets_to_try(const Environment& env);

/// Where the daemon of that socket keeps the files of its leases, in a directory of each lease that
/// has its handle for a name. Nothing is made or looked at here.
std::string leases_directory(const std::string& socket);

/// kInvalid, naming the path and the cure, where it does not fit into a socket address.
Status check_socket_path(const std::string& path);

/// "real", or the name of the simulated world.
Result<std::string> world_of(const Environment& env);

/// The files to read, later ones winning; those of a conf.d folder are in order of name. The
/// project's own file is found with find_project_config.
struct ConfigPaths {
  std::string system_file;
  std::string system_folder;  // *.toml
  std::string user_file;
  // Written by `berth alert`; beside the user's file, and in the machine's folder.
  std::string user_alerts;
  std::string system_alerts;
};
ConfigPaths config_paths(const Environment& env);
/// The machine's files, in the order in which they count: `system_file`, there or not, and what
/// lies in `system_folder`, 256 of them at most.
std::vector<std::string> machine_config_files(const ConfigPaths& paths);
/// The .berth.toml of `directory` or the nearest one above it, up to the first repository root or
/// `home`.
std::optional<std::string> find_project_config(const std::string& directory,
                                               const std::string& home);

}  // namespace berth::os
