// SPDX-License-Identifier: Apache-2.0
// `berth requeue`: a lease's command is stopped, waits in the queue and is started again.
#include <string>

#include "cli/control.h"
#include "cli/render/phrases.h"
#include "cli/verbs.h"
#include "wire/request.h"

namespace berth::cli {
namespace {

// Until the driver counts its memory free, and some for all that is said meanwhile.
constexpr Duration kFreeWithin = minutes(1);

std::string would_requeue(const LeaseView& lease, bool unsaved, const RenderContext& context) {
  const auto& way = lease.request.checkpoint;
  std::string text =
      "stop " + named(lease, context) + ", to wait in the queue and be started again";
  if (!way) return text + "; nothing is known of how it could save itself before";
  return text + (unsaved ? ", whatever comes of its save " : ", once it has saved itself ") +
         way_text(*way);
}

}  // namespace

int run_requeue(Invocation& invocation) {
  Control control(invocation);
  bool unsaved = false;
  invocation.about =
      "Has the command of a lease stopped and put back into the queue: when the lease is granted "
      "again, the same berth run starts the same command again, with BERTH_RESTART in its "
      "environment. For leases that were started with --requeue. One that can save itself "
      "(--checkpoint) does so first, and is not stopped if that is not confirmed. Returns when the "
      "lease waits in the queue.";
  invocation.examples = {{"berth requeue 12", "let others go first"},
                         {"berth requeue --unsaved 12", "also if it cannot save itself"}};
  invocation.options.add("--unsaved", store(unsaved),
                         "stop it also if its save is not confirmed: that is lost");
  control.declare();
  if (const auto end = invocation.parse()) return *end;
  return control.each([&](const LeaseView& lease, const RenderContext& context) {
    const auto& way = lease.request.checkpoint;
    const Duration save = way ? way->grace : Duration{};
    return Control::Operation{
        .dry_run_text = would_requeue(lease, unsaved, context),
        .question = {.route = wire::Route::kRequeue, .body = RequeueBody{.unsaved = unsaved}},
        .within = kFreeWithin + save + lease.request.requeue_grace.value_or(Duration{}),
        .success_text =
            [](const LeaseView& now, const RenderContext&) {
              return now.state == LeaseState::kWaiting
                         ? "waits in the queue again"
                         : "was requeued, and it is its turn again at once";
            },
    };
  });
}

}  // namespace berth::cli
