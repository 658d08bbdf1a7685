// SPDX-License-Identifier: Apache-2.0
// `berth doctor`: looks for what is wrong, says what follows from it and what mends it.
#include <algorithm>
#include <string>

#include "cli/doctor/finding.h"
#include "cli/doctor/gather.h"
#include "cli/doctor/judge.h"
#include "cli/render/items.h"
#include "cli/settings.h"
#include "cli/verbs.h"
#include "os/clock.h"
#include "os/users.h"

namespace berth::cli {
namespace {

RenderContext context_of(const Terminal& terminal) {
  return {.charset = {.unicode = terminal.unicode, .colour = terminal.colour},
          .width = terminal.width,
          .now = os::PosixClock().wall(),
          .me = os::own_user(),
          .user_name = os::user_name};
}

Result<std::string> report(const Findings& findings, const DoctorFacts& facts,
                           const OutputChoice& output, const Terminal& terminal) {
  const RenderContext context = context_of(terminal);
  if (output.is_for_people()) return findings_text(findings, context);
  const std::string json = findings_json(findings, context.now);
  const Findings one = {Finding{}};
  const std::string sample = findings_json(one, context.now);
  return render_items(
      {.json = json,
       .items = "items",
       .sample = sample,
       .simulated = facts.daemon ? std::optional(facts.daemon->simulated) : std::nullopt,
       .on_terminal = terminal.output_is_terminal},
      output, context.charset);
}

}  // namespace

int run_doctor(Invocation& invocation) {
  std::string lock_prefix = "/tmp/gpu_lock";
  OutputChoice output;
  invocation.about =
      "Looks at driver and GPUs, daemon, directories, the ways in which leases can be held to "
      "their "
      "budgets, libberth, what log-out does to jobs, and habits that do not go together with "
      "leases: lock files, memory split "
      "by "
      "environment variables. Each finding is ok, warn, FAIL or skip (could not be looked at, or "
      "is "
      "not there and need not be), with what follows from it and a command. Ends with 1 if there "
      "is a FAIL.";
  invocation.examples = {{"berth doctor", "look at everything"},
                         {"berth doctor --json", "for a program"}};
  invocation.options.add("--lock-files=PREFIX", store(lock_prefix),
                         "what the names of lock files begin with; /tmp/gpu_lock if not "
                         "said");
  declare_output(invocation.options, output, Watching::kNo);
  if (const auto end = invocation.parse()) return *end;
  // An invalid configuration is a finding here, not an end.
  const auto settings = settings_of(invocation, Complain::kNo);
  if (settings && !output.format_given) output.format = settings->client.output;
  const bool may_start = invocation.common.autostart && client::autostart_allowed_by_environment();
  const DoctorFacts facts = gather_facts(
      may_start ? client::Autostart::kIfNeeded : client::Autostart::kNever, lock_prefix);
  const Findings findings = judge(facts);
  const auto text = report(findings, facts, output, invocation.terminal);
  if (!text.ok()) return invocation.fail(text.error());
  print(*text);
  const bool failed = std::ranges::count(findings, Level::kFail, &Finding::level) > 0;
  return to_status(failed ? ExitCode::kFailed : ExitCode::kOk);
}

}  // namespace berth::cli
