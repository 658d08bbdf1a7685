// SPDX-License-Identifier: Apache-2.0
// `berth show`: all that is known of a lease, ended ones included.
#include <optional>
#include <string>

#include "cli/output_mode.h"
#include "cli/render/leases.h"
#include "cli/verbs.h"

namespace berth::cli {
namespace {

std::optional<std::string> details(const LeaseView& lease, OutputMode& output_mode) {
  if (output_mode.choice().is_for_people()) return lease_details(lease, output_mode.context());
  const auto body =
      output_mode.session().ask({.route = wire::Route::kLease, .lease = to_text(lease.id)});
  if (!body) return std::nullopt;
  return output_mode.for_programs({.json = *body});
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
