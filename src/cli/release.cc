// SPDX-License-Identifier: Apache-2.0
// `berth release`: the lease ends. Released is not free: what its programs use stays charged until
// they free it.
#include <string>

#include "base/quantity.h"
#include "cli/control.h"
#include "cli/lease_words.h"
#include "cli/render/phrases.h"
#include "cli/verbs.h"
#include "wire/request.h"

namespace berth::cli {
namespace {

bool has_programs(const LeaseView& lease) {
  return lease.command.has_value() || !lease.members.empty() ||
         used_by(lease).value_or(Bytes{}) > Bytes{};
}

std::string would_release(const LeaseView& lease, bool kill, const Scene& scene) {
  std::string text = "release " + named(lease, scene);
  if (lease.state == LeaseState::kWaiting) return text + ", which waits";
  text += ": " + to_text(granted_to(lease)) + " on " + devices_of(lease.parts);
  if (!has_programs(lease)) return text;
  if (kill) return text + "; its programs would be ended";
  return text + "; its programs would run on, and what they use (now " +
         size_or_dash(used_by(lease), scene) + ") would stay charged until they free it";
}

std::string told(const LeaseView& lease, const Scene& scene) {
  const std::string who = "lease " + named(lease, scene);
  if (lease.state != LeaseState::kReleasing || !has_programs(lease)) return who + " has ended";
  return who + " has ended; its programs run on, and what they use of " + devices_of(lease.parts) +
         " (" + size_or_dash(used_by(lease), scene) +
         ") stays charged until they free it: " + "berth release --kill " +
         std::to_string(lease.id.value) + " ends them";
}

}  // namespace

int run_release(Invocation& invocation) {
  Control control(invocation);
  bool kill = false;
  invocation.about =
      "Ends leases. A reservation is free at once. Where programs still run, the lease ends and "
      "they run on: what they use stays charged to their GPU until they free it, because memory "
      "that is in use cannot be granted to anybody. --kill ends them: SIGTERM, and SIGKILL ten "
      "seconds later.";
  invocation.examples = {{"berth release 12", "that lease"},
                         {"berth release --kill @last", "the newest of yours, and its programs"}};
  invocation.options.flag({.names = "--kill", .help = "end the programs too"}, into(kill));
  control.declare();
  if (const auto end = invocation.parse()) return *end;
  return control.each([&](const LeaseView& lease) {
    client::Question question{.route = wire::Route::kRelease,
                              .lease = reference_to(lease),
                              .body = wire::encode_release({.kill = kill})};
    return Control::Deed{
        .would = would_release(lease, kill, control.scene()),
        .question = [=] { return question; },
        .until_ended = kill,
        .told = [&](const LeaseView& now) { return told(now, control.scene()); },
    };
  });
}

}  // namespace berth::cli
