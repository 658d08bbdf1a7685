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
  return output_mode.answer_text({.route = wire::Route::kWhy, .lease = to_text(lease.id)}, {},
                                 wire::decode_why, [&](wire::NamedWhy& answer) {
                                   output_mode.session().learn(answer.names);
                                   return why_text(lease, answer.why, output_mode.context());
                                 });
}

std::optional<std::string> of_own(OutputMode& output_mode) {
  const auto queue = output_mode.session().ask({.route = wire::Route::kQueue}, wire::decode_leases);
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
