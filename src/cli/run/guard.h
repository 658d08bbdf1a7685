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

namespace berth::cli {

enum class Enforce : std::uint8_t { kAuto, kGuard, kNone };

struct GuardInput {
  Enforce enforce = Enforce::kAuto;
  std::string command;  // Its first word.
  std::string socket;   // Of the daemon.
  Handle lease;
  std::string own_path;   // Of `berth`: the guard lies beside it.
  std::string preloaded;  // LD_PRELOAD as it is.
};

struct GuardPlan {
  std::map<std::string, std::string> set;  // Variables of the command.
  std::string not_held;  // Why the command is not held to its budget; empty: it is, or need not be.
};
GuardPlan plan_guard(const GuardInput& input);

/// LD_PRELOAD with these libraries in it: run-times of sanitizers first, as they demand, ours last,
/// each once.
std::string preload_list(const std::string& preloaded, const std::vector<std::string>& first,
                         const std::string& guard);

}  // namespace berth::cli
