// SPDX-License-Identifier: Apache-2.0
// Finds the daemon, starting the user's own where none runs, and connects to it. What every verb
// that asks the daemon begins with. Not shared between threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "client/connection.h"
#include "client/socket.h"
#include "os/paths.h"
#include "os/unique_fd.h"
#include "wire/exit_status.h"
#include "wire/hello.h"

namespace berth::client {

enum class Autostart : std::uint8_t { kNever, kIfNeeded };

struct ClientOptions {
  os::Environment env;
  Autostart autostart = Autostart::kIfNeeded;
  std::string version;                             // Of this program.
  std::function<void(std::string_view)> say = {};  // A line for people: a daemon was started.
};

class Client {
 public:
  /// kUnavailable: no daemon, naming where it was looked for; kPermission: another user's, or we
  /// may not connect; kInvalid: a path too long for a socket, a world's name that is none.
  static Result<Client> connect(const ClientOptions& options);

  Connection& connection() { return connection_; }
  /// A further connection to the same socket, for what must be said while the first one listens.
  Result<Connection> another(Backlog backlog = Backlog::kWait) const;
  /// Connects again to the same socket after the daemon was lost, trying once.
  Status reconnect(Backlog backlog = Backlog::kWait);
  const std::string& socket() const { return socket_; }

 private:
  Client(std::string socket, wire::ClientHello hello, os::UniqueFd connected);

  std::string socket_;
  wire::ClientHello hello_;
  Connection connection_;
};

/// Nobody set BERTH_NO_AUTOSTART.
bool autostart_allowed_by_environment();

/// What to end with after an exchange with the daemon that gave no answer.
wire::ExitCode exit_status_of(const Error& error);

}  // namespace berth::client
