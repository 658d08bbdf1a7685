// SPDX-License-Identifier: Apache-2.0
// `berth pause` and `berth resume`: a lease's memory goes to the host and comes back, and its
// programs do not know.
#include <string>

#include "base/quantity.h"
#include "cli/control.h"
#include "cli/lease_words.h"
#include "cli/render/phrases.h"
#include "cli/verbs.h"

namespace berth::cli {
namespace {

// A whole large GPU at the speed of a slow driver, and its locks.
constexpr Duration kMoveWithin = minutes(10);

client::Question question_of(wire::Route route, const LeaseView& lease) {
  return {.route = route, .lease = reference_to(lease), .body = "{}"};
}

}  // namespace

int run_pause(Invocation& invocation) {
  Control control(invocation);
  invocation.about =
      "Moves the GPU memory of a lease's programs to host memory and stops their use of the GPU: "
      "what they had can be granted to others. The programs need not know of it; they wait in "
      "their next call of the driver. Returns when it is done. Where it cannot be done, they run "
      "on as before, and the reason is told.";
  invocation.examples = {{"berth pause 12", "make room"},
                         {"berth resume 12", "and go on when there is room again"}};
  control.declare();
  if (const auto end = invocation.parse()) return *end;
  return control.each([&](const LeaseView& lease) {
    return Control::Deed{
        .would = "move " + size_or_dash(used_by(lease), control.scene()) + " of GPU memory of " +
                 named(lease, control.scene()) + " to host memory",
        .question = [=] { return question_of(wire::Route::kSuspend, lease); },
        .within = kMoveWithin,
        .told =
            [&](const LeaseView& now) {
              return "lease " + named(now, control.scene()) +
                     " is paused; its GPU memory is in host memory (berth resume " +
                     std::to_string(now.id.value) + ")";
            },
    };
  });
}

int run_resume(Invocation& invocation) {
  Control control(invocation);
  invocation.about =
      "Lets a paused lease go on. It waits for room where others have its memory by now, before "
      "new requests of its priority. Returns when it runs; Ctrl-C leaves it waiting for room.";
  invocation.examples = {{"berth resume 12", "go on"}};
  control.declare();
  if (const auto end = invocation.parse()) return *end;
  return control.each([&](const LeaseView& lease) {
    return Control::Deed{
        .would = "move the GPU memory of " + named(lease, control.scene()) + " back from the host",
        .question = [=] { return question_of(wire::Route::kResume, lease); },
        .within = hours(24),
        .told =
            [&](const LeaseView& now) {
              return "lease " + named(now, control.scene()) + " goes on";
            },
    };
  });
}

}  // namespace berth::cli
