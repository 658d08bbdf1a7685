// SPDX-License-Identifier: Apache-2.0
// `berth release`: the lease ends. Released is not free: what its programs use stays charged until
// they free it. One whose programs run is released only where it was said what becomes of them.
#include <unistd.h>

#include <cstdint>
#include <string>

#include "base/quantity.h"
#include "cli/control.h"
#include "cli/render/phrases.h"
#include "cli/verbs.h"
#include "wire/request.h"

namespace berth::cli {
namespace {

/// What becomes of the programs of a lease that is released.
enum class Programs : std::uint8_t { kKeptFromIt, kEnded, kDetached };

bool has_programs(const LeaseView& lease) {
  return lease.command.has_value() || !lease.members.empty() ||
         used_by(lease).value_or(Bytes{}) > Bytes{};
}

// As the daemon will see it.
bool still_runs(const LeaseView& lease) {
  const bool held = lease.state == LeaseState::kHeld || lease.state == LeaseState::kSuspended;
  const bool command = lease.command && !lease.exit;
  return held && !lease.flags.unclaimed && (command || !lease.members.empty());
}

std::string would_release(const LeaseView& lease, Programs programs, const RenderContext& context) {
  std::string text = "release " + named(lease, context);
  if (lease.state == LeaseState::kWaiting) return text + ", which waits";
  text += ": " + to_text(granted_to(lease)) + " on " + devices_of(lease.parts);
  if (!has_programs(lease)) return text;
  if (programs == Programs::kEnded) return text + "; its programs would be ended";
  if (programs == Programs::kKeptFromIt && still_runs(lease)) {
    return "not " + text + ": it still runs its command, and neither --kill nor --detach is given";
  }
  return text + "; its programs would run on, and what they use (now " +
         size_or_dash(used_by(lease), context) + ") would stay charged until they free it";
}

std::string success_text(const LeaseView& lease, const RenderContext& context) {
  if (lease.state != LeaseState::kReleasing || !has_programs(lease)) return "has ended";
  return "has ended; its programs run on, and what they use of " + devices_of(lease.parts) + " (" +
         size_or_dash(used_by(lease), context) +
         ") stays charged until they free it: " + "berth release --kill " + to_text(lease.id) +
         " ends them";
}

}  // namespace

int run_release(Invocation& invocation) {
  Control control(invocation);
  bool kill = false;
  bool detach = false;
  invocation.about =
      "Ends leases. A reservation is free at once. A lease whose command still runs is not "
      "released unless you say what becomes of the command: --kill ends it (SIGTERM, and SIGKILL "
      "ten seconds later), --detach lets it run on without a lease. Memory that it uses cannot be "
      "granted to anybody before it frees it. On a terminal you are asked.";
  invocation.examples = {{"berth release 12", "that lease"},
                         {"berth release --kill @last", "the newest of yours, and its programs"},
                         {"berth release --detach 12", "its command runs on without it"}};
  invocation.options.add("--kill", store(kill), "end the programs too");
  invocation.options.add("--detach", store(detach), "let the command run on without a lease");
  control.declare();
  if (const auto end = invocation.parse()) return *end;
  if (kill && detach) return invocation.fail(ExitCode::kUsage, "say either --kill or --detach");
  const Programs programs = kill     ? Programs::kEnded
                            : detach ? Programs::kDetached
                                     : Programs::kKeptFromIt;
  return control.each([&](const LeaseView& lease, const RenderContext& context) {
    const bool doubtful = programs == Programs::kKeptFromIt && still_runs(lease);
    // On a terminal the user is asked, and may agree.
    const bool agrees = doubtful && isatty(STDIN_FILENO) == 1 && !control.unasked();
    return Control::Operation{
        .dry_run_text = would_release(lease, programs, context),
        .doubt = doubtful ? "lease " + named(lease, context) +
                                " still runs its command, which would run on without a lease"
                          : "",
        .question = {.route = wire::Route::kRelease,
                     .body = ReleaseBody{.kill = kill, .detach = detach || agrees}},
        .until_ended = kill,
        .success_text = success_text,
    };
  });
}

}  // namespace berth::cli
