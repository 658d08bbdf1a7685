// SPDX-License-Identifier: Apache-2.0
// `berth plan`: when the sessions of the plan of this project would run, and why not sooner.
#include "cli/render/plan.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/output_mode.h"
#include "cli/plan/outlook.h"
#include "cli/plan/project.h"
#include "cli/run/named_devices.h"
#include "cli/settings.h"
#include "cli/verbs.h"
#include "os/users.h"
#include "wire/answers.h"

namespace berth::cli {
namespace {

/// What `berth up` would ask for; nothing if that could not be found out, which was said.
std::optional<std::vector<RequestBody>> requests_of(const std::vector<UpStep>& steps,
                                                    const config::Config& config,
                                                    DaemonSession& session) {
  std::vector<RequestBody> requests;
  for (const UpStep& step : steps) {
    const PlannedSession& planned = *step.session;
    Result<RequestPlan> plan = plan_request(planned.asked, config);
    Result<DeviceChoice> choice = choice_of(planned.asked.gpus);
    const Error* wrong = !plan.ok() ? &plan.error() : !choice.ok() ? &choice.error() : nullptr;
    if (wrong != nullptr) {
      session.fail(ExitCode::kUsage, planned.name + ": " + wrong->message);
      return std::nullopt;
    }
    plan->request.name = planned.name;
    plan->request.members = planned.members;
    if (!fill_devices(*choice, session, plan->request)) return std::nullopt;
    requests.push_back({.request = std::move(plan->request), .named = plan->named});
  }
  return requests;
}

}  // namespace

int run_plan(Invocation& invocation) {
  OutputMode output_mode(invocation);
  std::string file{kPlanFile};
  invocation.about =
      "Shows when the sessions of the plan of this directory run or would run if berth up were "
      "called now, and why they wait: the daemon's own rules are played on with what runs and "
      "waits "
      "by now, as if all of it ended when it is expected to (--eta, --limit). Nothing is started, "
      "and the plan need not be trusted.";
  invocation.examples = {{"berth plan", "as a timeline"}, {"berth plan --json", "for programs"}};
  declare_plan_file(invocation.options, file);
  output_mode.declare(Watching::kNo);
  if (const auto end = invocation.parse()) return *end;
  const Result<PlanText> text = read_plan(file);
  if (!text.ok()) return invocation.fail(text.error());
  const Result<Plan> plan = understood(*text);
  if (!plan.ok()) return fail_with(invocation, plan.error());
  const auto config = request_settings_of(invocation);
  if (!config) return to_status(ExitCode::kConfig);
  return output_mode.open_and_show([&]() -> std::optional<std::string> {
    DaemonSession& session = output_mode.session();
    const auto leases = ask_plan_leases(session, plan_label(text->path));
    if (!leases) return std::nullopt;
    const std::vector<UpStep> steps = up_steps(*plan, *leases, {});
    auto requests = requests_of(steps, *config, session);
    if (!requests) return std::nullopt;
    auto status = session.ask({.route = wire::Route::kStatus}, wire::decode_status);
    if (!status) return std::nullopt;
    const Present present{.now = status->status.time,
                          .devices = std::move(status->status.devices),
                          .leases = std::move(status->status.leases),
                          .queue = std::move(status->status.queue)};
    const std::vector<OutlookRow> rows =
        outlook(present, steps, *requests, os::own_user(), config->core);
    if (output_mode.choice().is_for_people()) return plan_text(rows, output_mode.context());
    const std::string json = plan_json(rows, present.now, session.is_simulated().value_or(false));
    return output_mode.for_programs({.json = json, .items = "items"});
  });
}

}  // namespace berth::cli
