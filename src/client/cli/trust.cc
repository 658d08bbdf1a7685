// SPDX-License-Identifier: Apache-2.0
// `berth trust`: its user has looked at a plan, and agrees to what it names.
#include <unistd.h>

#include <optional>
#include <string>

#include "cli/control.h"
#include "cli/plan/project.h"
#include "cli/render/text.h"
#include "cli/run/request.h"
#include "cli/verbs.h"
#include "os/paths.h"

namespace berth::cli {
namespace {

/// What it would run, or what is new of it.
std::string shown(const PlanText& text, const Plan& plan,
                  const std::optional<std::string>& before) {
  if (before) {
    const std::string lines = difference(*before, text.content);
    return text.path + " has changed:\n" + (lines.empty() ? "  at the ends of lines\n" : lines);
  }
  std::string all = text.path + " would run, in " + text.directory + ":\n";
  for (const PlannedSession& session : plan.sessions) {
    all += "  " + session.name + ": " + command_text(session.command) + "\n";
  }
  return all;
}

}  // namespace

int run_trust(Invocation& invocation) {
  std::string file{kPlanFile};
  bool yes = false;
  invocation.about =
      "Shows the commands of a plan, or what has changed in it since it was trusted, and has it "
      "used by berth plan, up and down from then on, as it is now. A copy is kept; a plan that "
      "changes has to be trusted again. It must be yours or root's, and writable for nobody else.";
  invocation.examples = {{"berth trust", "the plan of this directory, after a question"},
                         {"berth trust --yes ci/berth.toml", "another one, without"}};
  invocation.options.add("-y,--yes", store(yes), "do not ask");
  invocation.options.operand("[FILE]", store(file), "the plan; berth.toml is the default");
  if (const auto end = invocation.parse()) return *end;
  const Result<PlanText> text = read_plan(file);
  if (!text.ok()) return invocation.fail(text.error());
  const Result<Plan> plan = understood(*text);
  if (!plan.ok()) return fail_with(invocation, plan.error());
  const auto trusted = TrustedPlans::find(os::read_environment());
  if (!trusted.ok()) return invocation.fail(trusted.error());
  const auto before = trusted->content(text->path);
  if (!before.ok()) return invocation.fail(before.error());
  if (*before == text->content) {
    print(text->path + " is trusted as it is\n");
    return to_status(ExitCode::kOk);
  }
  const Charset charset{.unicode = invocation.terminal.unicode};
  print(escape_control_lines(shown(*text, *plan, *before), charset));
  flush();
  if (!yes) {
    if (isatty(STDIN_FILENO) != 1) {
      return invocation.usage_error("nobody can be asked here: say --yes if you trust it");
    }
    if (!asked_and_agreed("do you trust it?")) return to_status(ExitCode::kFailed);
  }
  const Status kept = trusted->trust(text->path, text->content);
  if (!kept.ok()) return invocation.fail(kept.error());
  print("trusted: berth up starts it\n");
  return to_status(ExitCode::kOk);
}

}  // namespace berth::cli
