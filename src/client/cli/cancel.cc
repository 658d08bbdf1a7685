// SPDX-License-Identifier: Apache-2.0
// `berth cancel`: out of the queue, or the command is ended and with it the lease.
#include <string>

#include "cli/control.h"
#include "cli/render/phrases.h"
#include "cli/verbs.h"
#include "wire/request.h"

namespace berth::cli {
namespace {

std::string would_cancel(const LeaseView& lease, const RenderContext& context) {
  const std::string who = named(lease, context);
  if (lease.state == LeaseState::kWaiting) return "take " + who + " out of the queue";
  return "end the programs of " + who + " with SIGTERM, and with SIGKILL ten seconds later";
}

}  // namespace

int run_cancel(Invocation& invocation) {
  Control control(invocation);
  invocation.about =
      "Takes a waiting request out of the queue. Of a lease that holds, ends the programs: "
      "SIGTERM, "
      "and SIGKILL ten seconds later. Returns when the lease has ended.";
  invocation.examples = {{"berth cancel 14", "one request"},
                         {"berth cancel 20..29 --dry-run", "what would be ended"}};
  control.declare();
  if (const auto end = invocation.parse()) return *end;
  return control.each([](const LeaseView& lease, const RenderContext& context) {
    return Control::Operation{.dry_run_text = would_cancel(lease, context),
                              .question = {.route = wire::Route::kCancel},
                              .until_ended = true,
                              .success_text = [](const LeaseView& now, const RenderContext&) {
                                return "has ended (" + result_of(now) + ")";
                              }};
  });
}

}  // namespace berth::cli
