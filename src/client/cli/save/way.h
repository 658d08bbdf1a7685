// SPDX-License-Identifier: Apache-2.0
// Ways to have a command save itself, as --checkpoint says: by a signal, by a command line, by a
// request over HTTP, by the library in it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "base/units.h"
#include "model/checkpoint.h"

namespace berth::cli {

struct SignalWay {
  int signal = 0;
  bool all = false;   // Each process of the lease that catches it, not the command alone.
  std::string files;  // What confirms it: one that matches and is newer. Empty: nothing does.
};
struct CmdWay {
  std::string line;  // For /bin/sh.
};
struct HttpWay {
  std::string host;    // Without brackets; empty with a socket.
  std::string port;    // Digits.
  std::string socket;  // Of a Unix socket, instead of the two.
  std::string target;  // "/checkpoint?x=1"
};
/// The program is asked by the daemon itself, through libberth: there is nothing to be done here.
struct LibraryWay {};
using SaveWay = std::variant<SignalWay, CmdWay, HttpWay, LibraryWay>;  // As CheckpointKind.

/// "signal:USR1", "signal:USR1@all,file=out/*.pt", "cmd:…", "http://…", "http:unix:/path:/target",
/// "library".
Result<SaveWay> parse_save_way(std::string_view text);

/// What the options of `berth run` say.
struct SaveOptions {
  std::optional<SaveWay> way;
  std::optional<Duration> grace;
  std::optional<Duration> every;
  bool requeue = false;  // It may be stopped within the same grace, and started again.
};
/// What the daemon is told of it. kInvalid: the options make no sense together.
Result<std::optional<CheckpointWay>> checkpoint_way_of(const SaveOptions& options);

/// "SIGUSR1"
std::string signal_name(int signal);

}  // namespace berth::cli
