// SPDX-License-Identifier: Apache-2.0
// `berth requeue`: a lease's command is stopped, waits in the queue and is started again.
#include <string>
#include <utility>
#include <vector>

#include "base/number.h"
#include "cli/control.h"
#include "cli/render/phrases.h"
#include "cli/run/run_options.h"
#include "cli/verbs.h"
#include "jobs/job_folder.h"
#include "os/paths.h"
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

// As it was submitted, with the variables of now: those of then were wiped when it was over. Whom
// it waited for, and until when, is past.
int submit_failed(Invocation& invocation, const std::vector<std::string>& words) {
  const auto number = words.size() == 1 ? parse_number<std::uint64_t>(words.front()) : std::nullopt;
  if (!number) return invocation.usage_error("--failed: name one set, by its number");
  const Result<jobs::JobFolder> folder = jobs::JobFolder::find(os::read_environment());
  if (!folder.ok()) return invocation.fail(folder.error());
  const LeaseId set{*number};
  const Result<jobs::Job> job = folder->read(set);
  Result<std::vector<std::string>> arguments = folder->arguments(set);
  if (!job.ok() || !arguments.ok() || job->members == 0) {
    return invocation.usage_error("--failed: there is no set " + to_text(set) + " of yours");
  }
  Invocation again{.verb = *find_verb("submit"),
                   .arguments = *std::move(arguments),
                   .common = invocation.common};
  RunOptions run{.detach = true, .failed_of = set};
  declare_run(again, run);
  if (const auto end = again.parse()) return *end;
  run.directory = job->directory;
  run.session.request.after.clear();
  run.session.request.not_before.reset();
  run.session.request.carried.key.clear();
  return run_with(again, std::move(run));
}

}  // namespace

int run_requeue(Invocation& invocation) {
  Control control(invocation);
  bool unsaved = false;
  bool failed = false;
  invocation.about =
      "Has the command of a lease stopped and put back into the queue: when the lease is granted "
      "again, the same berth run starts the same command again, with BERTH_RESTART in its "
      "environment. For leases that were started with --requeue. One that can save itself "
      "(--checkpoint) does so first, and is not stopped if that is not confirmed. Returns when the "
      "lease waits in the queue.\n\nWith --failed: the members of a set that is over which did not "
      "end well are submitted again, as a set of their own, whose number is printed.";
  invocation.examples = {{"berth requeue 12", "let others go first"},
                         {"berth requeue --unsaved 12", "also if it cannot save itself"},
                         {"berth requeue --failed 17", "what failed of set 17, as a new set"}};
  invocation.options.add("--unsaved", store(unsaved),
                         "stop it also if its save is not confirmed: that is lost");
  invocation.options.add("--failed", store(failed),
                         "of a set that is over: submit again what did not end well");
  control.declare();
  if (const auto end = invocation.parse()) return *end;
  if (failed) return submit_failed(invocation, control.words());
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
