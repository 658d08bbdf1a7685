// SPDX-License-Identifier: Apache-2.0
// `berth renew`: more time for a reservation.
#include <optional>
#include <string>

#include "base/checked.h"
#include "base/quantity.h"
#include "cli/lease_words.h"
#include "cli/leases.h"
#include "cli/output_mode.h"
#include "cli/verbs.h"
#include "wire/lease.h"
#include "wire/request.h"

namespace berth::cli {

int run_renew(Invocation& invocation) {
  OutputMode output_mode(invocation);
  std::string word;
  std::optional<Duration> duration;
  invocation.about =
      "Lets a reservation last so long from now, instead of what was left of it. Of a lease that "
      "has a command nothing runs out, and nothing is renewed.";
  invocation.examples = {{"berth renew 12 2h", "two hours from now"}};
  invocation.options.operand("LEASE", store(word), "its number, name or handle");
  invocation.options.operand("DURATION", store_positive(duration),
                             "how long from now: 90s, 30m, 2h");
  output_mode.declare(Watching::kNo);
  if (const auto end = invocation.parse()) return *end;
  if (!output_mode.open()) return output_mode.session().status();

  DaemonSession& session = output_mode.session();
  const auto leases = select_leases(session, {word});
  if (!leases) return session.status();
  for (const LeaseView& lease : *leases) {
    const auto body = session.ask({.route = wire::Route::kRenew,
                                   .lease = reference_to(lease),
                                   .body = RenewBody{.ttl = checked(duration)}});
    if (!body) continue;
    const auto renewed = session.understood(wire::decode_lease(*body));
    if (!renewed) continue;
    if (!output_mode.choice().is_for_people()) {
      if (const auto text = output_mode.for_programs({.json = *body})) print(*text);
      continue;
    }
    const auto& expires = renewed->view.expires_at;
    complain("berth: lease " + to_text(renewed->view.id) + " lasts " + to_text(checked(duration)) +
             " from now" + (expires ? ", until " + to_text(*expires) : "") +
             (session.is_simulated().value_or(false) ? " (the GPU is simulated)\n" : "\n"));
  }
  return session.status();
}

}  // namespace berth::cli
