// SPDX-License-Identifier: Apache-2.0
// `berth show`: all that is known of a lease, ended ones included.
#include <optional>
#include <string>

#include "cli/render/leases.h"
#include "cli/showing.h"
#include "cli/verbs.h"

namespace berth::cli {
namespace {

std::optional<std::string> details(const LeaseView& lease, Showing& showing) {
  if (showing.choice().is_for_people()) return lease_details(lease, showing.scene());
  const auto body = showing.conversation().ask(
      {.route = wire::Route::kLease, .lease = std::to_string(lease.id.value)});
  if (!body) return std::nullopt;
  return showing.for_programs({.json = *body, .sample = *body});
}

}  // namespace

int run_show(Invocation& invocation) {
  invocation.about =
      "Tells all that is known of a lease. The last thousand that have ended are still known, with "
      "their result.";
  invocation.examples = {{"berth show @last", "the newest of yours"}};
  return show_leases(invocation, &details);
}

}  // namespace berth::cli
