// SPDX-License-Identifier: Apache-2.0
// `berth hold`: a request is kept from being granted, and let again.
#include "cli/control.h"
#include "cli/verbs.h"

namespace berth::cli {

int run_hold(Invocation& invocation) {
  Control control(invocation);
  HoldBody body;
  invocation.about =
      "Keeps a request that waits from being granted, until --off lets it. It keeps its place and "
      "its age in the queue meanwhile; others pass it. Of the time that it may wait (--wait), the "
      "time on hold is part. What has been granted cannot be on hold: berth pause makes that leave "
      "the GPU.";
  invocation.examples = {{"berth hold 12", "let others go first"},
                         {"berth hold --off 12", "it may be granted again"}};
  invocation.options.add("--off", store(body.off), "let it be granted again");
  control.declare();
  if (const auto end = invocation.parse()) return *end;
  return control.each([&](const LeaseView& lease, const RenderContext& context) {
    return Control::Operation{
        .dry_run_text = (body.off ? "let " : "keep ") + named(lease, context) +
                        (body.off ? " be granted when it is its turn" : " from being granted"),
        .question = {.route = wire::Route::kHold, .body = body},
        .success_text = [off = body.off](const LeaseView& now,
                                         const RenderContext&) -> std::string {
          if (!off) return "is on hold (berth hold --off " + to_text(now.id) + ")";
          return now.state == LeaseState::kWaiting ? "waits for its turn again"
                                                   : "is granted: it was its turn";
        },
    };
  });
}

}  // namespace berth::cli
