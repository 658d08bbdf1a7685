// SPDX-License-Identifier: Apache-2.0
// `berth why`: why a request waits, who has what it waits for, and what would help.
#include "cli/render/why.h"

#include <optional>
#include <string>

#include "cli/output_mode.h"
#include "cli/verbs.h"
#include "os/users.h"
#include "wire/answers.h"
#include "wire/lease.h"

namespace berth::cli {
namespace {

std::optional<std::string> explanation(const LeaseView& lease, OutputMode& output_mode) {
  DaemonSession& session = output_mode.session();
  const auto body =
      session.ask({.route = wire::Route::kWhy, .lease = std::to_string(lease.id.value)});
  if (!body) return std::nullopt;
  if (!output_mode.choice().is_for_people()) {
    return output_mode.for_programs({.json = *body, .sample = *body});
  }
  const auto answer = session.understood(wire::decode_why(*body));
  if (!answer) return std::nullopt;
  session.learn(answer->names);
  return why_text(lease, answer->why, output_mode.context());
}

std::optional<std::string> of_own(OutputMode& output_mode) {
  DaemonSession& session = output_mode.session();
  const auto body = session.ask({.route = wire::Route::kQueue});
  if (!body) return std::nullopt;
  const auto queue = session.understood(wire::decode_leases(*body));
  if (!queue) return std::nullopt;
  std::string text;
  for (const LeaseView& lease : queue->items) {
    if (lease.user != os::own_user()) continue;
    const auto one = explanation(lease, output_mode);
    if (!one) return std::nullopt;
    text += *one;
  }
  if (text.empty() && output_mode.choice().is_for_people()) return "No request of yours waits.\n";
  return text;
}

}  // namespace

int run_why(Invocation& invocation) {
  invocation.about =
      "Says what a request lacks, who has it and until when, who is ahead, and what would make it "
      "start sooner. Without LEASE: of each of your requests that waits.";
  invocation.examples = {{"berth why 14", "the request with that number"},
                         {"berth why", "each of yours that waits"}};
  return show_leases(invocation, &explanation, &of_own);
}

}  // namespace berth::cli
