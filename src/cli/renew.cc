// SPDX-License-Identifier: Apache-2.0
// `berth renew`: more time for a reservation.
#include <optional>
#include <string>

#include "base/present.h"
#include "base/quantity.h"
#include "cli/lease_words.h"
#include "cli/selection.h"
#include "cli/showing.h"
#include "cli/verbs.h"
#include "wire/lease.h"
#include "wire/request.h"

namespace berth::cli {

int run_renew(Invocation& invocation) {
  Showing showing(invocation);
  std::string word;
  std::optional<Duration> duration;
  invocation.about =
      "Lets a reservation last so long from now, instead of what was left of it. Of a lease that "
      "has a command nothing runs out, and nothing is renewed.";
  invocation.examples = {{"berth renew 12 2h", "two hours from now"}};
  invocation.options.operand(
      {.metavar = "LEASE", .help = "its number, name or handle", .at_least = 1}, into(word));
  invocation.options.operand(
      {.metavar = "DURATION", .help = "how long from now: 90s, 30m, 2h", .at_least = 1},
      some_time_into(duration));
  showing.declare(Watching::kNo);
  if (const auto end = invocation.parse()) return *end;
  if (!showing.open()) return showing.conversation().status();

  Conversation& conversation = showing.conversation();
  const auto leases = select_leases(conversation, {word});
  if (!leases) return conversation.status();
  for (const LeaseView& lease : *leases) {
    const auto body = conversation.ask({.route = wire::Route::kRenew,
                                        .lease = reference_to(lease),
                                        .body = wire::encode_renew({.ttl = present(duration)})});
    if (!body) continue;
    const auto renewed = conversation.understood(wire::decode_lease(*body));
    if (!renewed) continue;
    if (!showing.choice().is_for_people()) {
      if (const auto text = showing.for_programs({.json = *body, .sample = *body})) print(*text);
      continue;
    }
    const auto& expires = renewed->view.expires_at;
    complain("berth: lease " + std::to_string(renewed->view.id.value) + " lasts " +
             to_text(present(duration)) + " from now" +
             (expires ? ", until " + to_text(*expires) : "") +
             (conversation.is_simulated().value_or(false) ? " (the GPU is simulated)\n" : "\n"));
  }
  return conversation.status();
}

}  // namespace berth::cli
