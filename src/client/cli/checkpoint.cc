// SPDX-License-Identifier: Apache-2.0
// `berth checkpoint`: a program saves itself. Only what was confirmed is called a save.
#include <optional>
#include <string>

#include "base/quantity.h"
#include "cli/control.h"
#include "cli/render/phrases.h"
#include "cli/verbs.h"
#include "wire/request.h"

namespace berth::cli {
namespace {

struct Patience {
  std::optional<Duration> wait_max;  // As asked for.
  bool none = false;
};

// The daemon ends a save that it hears nothing of some seconds after its grace.
Duration answer_within(const LeaseView& lease, const Patience& patience) {
  const auto& way = lease.request.checkpoint;
  const Duration grace = way ? way->grace : Duration{};
  return client::Connection::kAnswerWithin + (patience.none ? Duration{} : grace);
}

ExitCode exit_code(const LeaseView& lease, const Patience& patience) {
  if (lease.checkpoints.asked) return patience.none ? ExitCode::kOk : ExitCode::kTimeLimit;
  const auto& last = lease.checkpoints.last;
  if (!last) return ExitCode::kFailed;
  if (last->outcome == CheckpointOutcome::kSaved) return ExitCode::kOk;
  return last->outcome == CheckpointOutcome::kUncaught ? ExitCode::kDataError : ExitCode::kFailed;
}

std::string success_text(const LeaseView& lease, const RenderContext& context) {
  if (lease.checkpoints.asked) {
    return "was asked to save itself; berth show " + to_text(lease.id) + " tells how it goes";
  }
  const auto& last = lease.checkpoints.last;
  return last ? saved_text(*last, context.charset) : "has not saved itself";
}

}  // namespace

int run_checkpoint(Invocation& invocation) {
  Control control(invocation);
  Patience patience;
  invocation.about =
      "Has the program of a lease save itself, in the way that berth run --checkpoint named, and "
      "returns when that is over. It ends with 0 only if the save was confirmed; with 1 and a word "
      "(unconfirmed, failed, timed out, gone) if it was not; with 65 if the program does not catch "
      "the signal, which was not sent then. Who asks while a save is under way waits for that one.";
  invocation.examples = {{"berth checkpoint 12", "that lease"},
                         {"berth checkpoint @mine && sudo reboot", "all of yours, then reboot"}};
  invocation.options.add("-W,--wait=DUR", store(patience.wait_max),
                         "wait for the end of it this long, then end with 124");
  invocation.options.add("--no-wait", store(patience.none),
                         "ask, and do not wait for the end of it");
  control.declare();
  if (const auto end = invocation.parse()) return *end;
  if (patience.none && patience.wait_max) {
    return invocation.usage_error("--wait and --no-wait exclude each other");
  }
  if (patience.none) patience.wait_max = Duration{};
  return control.each([&](const LeaseView& lease, const RenderContext& context) {
    const auto& way = lease.request.checkpoint;
    return Control::Operation{
        .dry_run_text = "have " + named(lease, context) + " save itself" +
                        (way ? " " + way_text(*way) : ": nothing is known of how it could"),
        .question = {.route = wire::Route::kCheckpoint,
                     .body = CheckpointBody{.wait_max = patience.wait_max}},
        .within = answer_within(lease, patience),
        .success_text = success_text,
        .exit_code = [&](const LeaseView& now) { return exit_code(now, patience); },
    };
  });
}

}  // namespace berth::cli
