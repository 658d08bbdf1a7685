// SPDX-License-Identifier: Apache-2.0
// How the command of a lease is held to its budget: the guard is preloaded into it, if it is a
// program that can be preloaded into and the daemon has made the lease's files. Reads files and the
// environment of this process; changes nothing.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "os/program_file.h"

namespace berth::cli {

enum class Enforce : std::uint8_t { kAuto, kGuard, kNone };

/// What does not depend on the lease, and can be found out before there is one.
struct GuardLook {
  std::string own_path;  // Of `berth`: the guard lies beside it.
  std::string guard;     // Empty: it is not there.
  Result<os::FileStamp> stamp;
  Result<os::ProgramFile> program;
};
GuardLook look_for_guard(const std::string& command, const std::string& own_path);
/// Another file would be started now, or it was written to.
bool is_outdated(const GuardLook& look, const std::string& command);

struct GuardInput {
  Enforce enforce = Enforce::kAuto;
  std::string socket;  // Of the daemon.
  Handle lease;
  std::string preloaded;     // LD_PRELOAD as it is.
  std::string asan_options;  // ASAN_OPTIONS as it is.
};

struct GuardPlan {
  std::map<std::string, std::string> set;  // Variables of the command.
  std::string not_held;  // Why the command is not held to its budget; empty: it is, or need not be.
};
GuardPlan plan_guard(const GuardInput& input, const GuardLook& look);

/// LD_PRELOAD with these libraries in it: run-times of sanitizers first, as they demand, ours last,
/// each once.
std::string preload_list(const std::string& preloaded, const std::vector<std::string>& first,
                         const std::string& guard);

}  // namespace berth::cli
