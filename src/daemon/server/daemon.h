// SPDX-License-Identifier: Apache-2.0
// The daemon put together: it takes its places, its journal and its socket, finds again what a
// daemon before it held, and runs the event loop until it is told to stop. Everything that decides
// is in the engine and in the service. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "os/paths.h"

namespace berth::server {

struct DaemonOptions {
  os::Mode mode = os::Mode::kUser;
  std::string socket;     // Empty: at its place.
  std::string state_dir;  // Empty: as configured, or at its place.
  bool in_container = false;
  // What becomes of its log and its terminal once it is ready.
  enum class RunMode : std::uint8_t {
    kForeground,  // Nothing: a person or a service manager reads stderr.
    kStarted,     // Berth started it: the log goes to the state directory.
    kBackground,  // The same, and the terminal is left.
  };
  RunMode ground = RunMode::kForeground;
  std::optional<int> ready_fd;  // A line is written there when the socket accepts.
};

class Daemon {
 public:
  /// Ready to accept. kConflict: another daemon has the socket or the state directory; kInvalid:
  /// the configuration is wrong, or a path too long; kUnavailable: not in this container.
  static Result<std::unique_ptr<Daemon>> start(const DaemonOptions& options,
                                               const os::Environment& env);
  struct Impl;
  explicit Daemon(std::unique_ptr<Impl> impl);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  /// Until SIGTERM, SIGINT or a client's word. Jobs go on; the next daemon finds them again.
  void run();

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::server
