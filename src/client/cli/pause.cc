// SPDX-License-Identifier: Apache-2.0
// `berth pause` and `berth resume`: a lease's memory goes to the host and comes back, or its
// processes are stopped and go on; its programs do not know.
#include <cstdint>
#include <optional>
#include <string>

#include "base/quantity.h"
#include "cli/control.h"
#include "cli/render/phrases.h"
#include "cli/verbs.h"
#include "wire/request.h"

namespace berth::cli {
namespace {

// A whole large GPU at the speed of a slow driver, and its locks.
constexpr Duration kMoveWithin = minutes(10);

enum class Mode : std::uint8_t { kSuspend, kFreeze, kCheckpoint };
constexpr auto words_of(Mode) {
  using enum Mode;
  return make_words<Mode>(
      {{kSuspend, "suspend"}, {kFreeze, "freeze"}, {kCheckpoint, "checkpoint"}});
}

std::string dry_run_text(Mode mode, const LeaseView& lease, const RenderContext& context) {
  const std::string who = named(lease, context);
  if (mode == Mode::kFreeze) return "stop the processes of " + who;
  return (mode == Mode::kCheckpoint ? "have " + who + " save itself, and then " : "") + "move " +
         size_or_dash(used_by(lease), context) + " of GPU memory of " + who + " to host memory";
}

std::string success_text(Mode mode, const LeaseView& lease, const RenderContext& context) {
  const std::optional<UnixMs> until = lease.pause ? lease.pause->until : std::nullopt;
  const std::string resume = (until ? ", for " + about(*until, context) : "") + " (berth resume " +
                             to_text(lease.id) + ")";
  const std::string but = lease.left_alone.empty() ? "" : "; " + left_alone_text(lease);
  const std::string what =
      mode == Mode::kFreeze ? "its processes are stopped" : "its GPU memory is in host memory";
  return "is paused; " + what + but + resume;
}

// Only what was confirmed is a save.
std::string unsaved(const LeaseView& lease, const RenderContext& context) {
  const auto& last = lease.checkpoints.last;
  if (last && last->outcome == CheckpointOutcome::kSaved) return "";
  return "is not paused: it " +
         (last ? saved_text(*last, context.charset) : "has not saved itself");
}

}  // namespace

int run_pause(Invocation& invocation) {
  Control control(invocation);
  Mode mode = Mode::kSuspend;
  PauseBody terms;
  invocation.about =
      "Moves the GPU memory of a lease's programs to host memory and stops their use of the GPU: "
      "what they had can be granted to others. The programs need not know of it; they wait in "
      "their next call of the driver. With --mode freeze their processes are stopped instead, and "
      "keep their GPU memory; with --mode checkpoint they save themselves first, and are not "
      "paused unless that is confirmed. Returns when it is done. Where it cannot be done, they "
      "run on as before, and the reason is told.";
  invocation.examples = {
      {"berth pause 12", "make room"},
      {"berth resume 12", "and go on when there is room again"},
      {"berth pause 12 --for 1h --reason 'a demo until three'", "for so long, and say why"},
      {"berth pause 12 --mode freeze", "let the processor be used by others"}};
  invocation.options.add("--mode=MODE", store(mode), "what is done; suspend if not said",
                         texts_of<Mode>());
  invocation.options.add("--for=DUR", store_positive(terms.lasts),
                         "it resumes by itself after this long");
  invocation.options.add("--reason=TEXT", store(terms.reason), "why; berth show tells it to all");
  control.declare();
  if (const auto end = invocation.parse()) return *end;
  const wire::Route route = mode == Mode::kFreeze ? wire::Route::kFreeze : wire::Route::kSuspend;
  return control.each([&](const LeaseView& lease, const RenderContext& context) {
    Control::Operation operation{
        .dry_run_text = dry_run_text(mode, lease, context),
        .question = {.route = route, .body = terms},
        .within = kMoveWithin,
        .success_text = [=](const LeaseView& now,
                            const RenderContext& then) { return success_text(mode, now, then); },
    };
    if (mode == Mode::kCheckpoint) {
      operation.before = {.route = wire::Route::kCheckpoint};
      operation.precondition = unsaved;
    }
    return operation;
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
  return control.each([](const LeaseView& lease, const RenderContext& context) {
    return Control::Operation{
        .dry_run_text = "let " + named(lease, context) + " go on",
        .question = {.route = wire::Route::kResume},
        .within = hours(24),
        .success_text = [](const LeaseView&, const RenderContext&) { return "has resumed"; },
    };
  });
}

}  // namespace berth::cli
