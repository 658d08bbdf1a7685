// SPDX-License-Identifier: Apache-2.0
// berthd: reads its options, goes to the background where they say so, and runs the daemon.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "os/paths.h"
#include "os/unique_fd.h"
#include "server/background.h"
#include "server/daemon.h"
#include "wire/exit_status.h"

namespace berth {
namespace {

int exit_code_of(Errc code) {
  using wire::ExitCode;
  switch (code) {
    case Errc::kInvalid:
    case Errc::kPermission:
      return static_cast<int>(ExitCode::kConfig);
    case Errc::kConflict:
      return static_cast<int>(ExitCode::kTryLater);
    case Errc::kCannotCreate:
      return static_cast<int>(ExitCode::kCannotCreate);
    case Errc::kVersion:
      return static_cast<int>(ExitCode::kVersion);
    case Errc::kUnavailable:
    case Errc::kNotFound:
      return static_cast<int>(ExitCode::kUnavailable);
    case Errc::kExhausted:
      return static_cast<int>(ExitCode::kOsError);
    case Errc::kTimedOut:
    case Errc::kIo:
    case Errc::kFull:
    case Errc::kCorrupt:
      break;
  }
  return static_cast<int>(ExitCode::kIoError);
}

int complain(const Error& error) {
  std::fprintf(stderr, "berthd: %s\n", error.message.c_str());
  return exit_code_of(error.code);
}

int run(const server::DaemonOptions& options) {
  auto daemon = server::Daemon::start(options, os::read_environment());
  if (!daemon.ok()) return complain(daemon.error());
  (*daemon)->run();
  return 0;
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  berth::os::hold_standard_descriptors();
  using berth::os::Mode;
  CLI::App app("Coordinates the GPUs of a machine. `berth` starts it by itself.", "berthd");
  berth::server::DaemonOptions options;
  bool foreground = false;
  bool system = false;
  app.set_version_flag("--version", "berthd " BERTH_VERSION);
  app.add_flag("--foreground", foreground, "stay, and log on stderr");
  app.add_flag("--system", system, "for all users of the machine");
  app.add_flag("--in-container", options.in_container, "even where daemon.in_container is false");
  app.add_option("--socket", options.socket, "where to listen");
  app.add_option("--state-dir", options.state_dir, "where the journal lies");
  app.add_option("--ready-fd", options.ready_fd, "write a line there when listening");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(berth::wire::ExitCode::kUsage);
  }
  using RunMode = berth::server::DaemonOptions::RunMode;
  options.mode = system ? Mode::kSystem : Mode::kUser;
  if (foreground) return berth::run(options);
  options.ground = options.ready_fd ? RunMode::kStarted : RunMode::kBackground;
  if (options.ready_fd) return berth::run(options);
  const auto ready = berth::server::go_to_background();
  if (!ready.ok()) return berth::complain(ready.error());
  options.ready_fd = *ready;
  return berth::run(options);
}
