// SPDX-License-Identifier: Apache-2.0
// Preparation of the guard for the command of a lease: it is preloaded into it, if it is a program
// that can be preloaded into and the daemon has made the lease's files. Reads files and the
// environment of this process; changes nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "base/words.h"
#include "os/program_file.h"

namespace berth::cli {

/// How the guard is shown to a program: preloaded, or by the dynamic linker's audit besides, for
/// programs that find the driver past preloaded libraries.
enum class GuardMode : std::uint8_t { kAuto, kPreload, kAudit };
constexpr auto words_of(GuardMode) {
  using enum GuardMode;
  return make_words<GuardMode>({{kAuto, "auto"}, {kPreload, "preload"}, {kAudit, "audit"}});
}

/// What does not depend on the lease, and can be found out before there is one.
struct GuardLook {
  std::string own_path;  // Of `berth`: the guard lies beside it.
  std::string guard;     // Empty: it is not there.
  std::string audit;     // The same.
  Result<os::FileStamp> stamp;
  Result<os::ProgramFile> program;
};
GuardLook look_for_guard(const std::string& command, const std::string& own_path);
/// Another file would be started now, or it was written to.
bool is_outdated(const GuardLook& look, const std::string& command);

struct GuardInput {
  GuardMode mode = GuardMode::kAuto;
  std::string socket;  // Of the daemon.
  Handle lease;
  std::string preloaded;     // LD_PRELOAD as it is.
  std::string audited;       // LD_AUDIT as it is.
  std::string asan_options;  // ASAN_OPTIONS as it is.
  std::string on_full;       // BERTH_ON_FULL as the command is to have it; empty: without.
};

struct GuardPlan {
  std::map<std::string, std::string> set;  // Variables of the command.
  std::string not_held;                    // Why the command cannot be held by it; empty: it is.
};
GuardPlan plan_guard(const GuardInput& input, const GuardLook& look);

/// What tells the guard how long an allocation waits for room in the budget, and its value for
/// that.
inline constexpr const char* kOnFull = "BERTH_ON_FULL";
std::string on_full_text(Duration wait_max);

/// LD_PRELOAD with our library in it, and each once: last, but before libraries that define dlsym
/// for the program.
std::string preload_list(const std::string& preloaded, const std::string& guard,
                         const std::function<bool(const std::string&)>& defines_dlsym);
/// LD_AUDIT with ours in it, last and once.
std::string audit_list(const std::string& audited, const std::string& ours);

}  // namespace berth::cli
