// SPDX-License-Identifier: Apache-2.0
// `berth up`: what the plan of this project says is made so.
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cli/plan/project.h"
#include "cli/settings.h"
#include "cli/verbs.h"

namespace berth::cli {
namespace {

struct UpOptions {
  std::string file{kPlanFile};
  std::vector<std::string> names;
  bool again = false;
  bool dry_run = false;
};

std::string told(const UpStep& step, bool dry_run) {
  const std::string what = step.session->name + ": ";
  const std::string lease = step.lease ? to_text(*step.lease) : "";
  switch (step.what) {
    case UpStep::What::kGoesOn:
      return what + "goes on as " + lease;
    case UpStep::What::kIsDone:
      return what + "has ended well as " + lease;
    case UpStep::What::kReplace:
      return what + (dry_run ? "would be ended as " : "ends as ") + lease + ": it has changed";
    case UpStep::What::kStart:
      break;
  }
  return what + "would be started";
}

class Up {
 public:
  Up(Invocation& invocation, DaemonSession& daemon, const UpOptions& up, const Project& project,
     PlanLeases leases)
      : invocation_(invocation),
        daemon_(daemon),
        up_(up),
        project_(project),
        leases_(std::move(leases)) {}

  int run() {
    const Wanted wanted{.sessions = {up_.names.begin(), up_.names.end()}, .again = up_.again};
    for (const UpStep& step : up_steps(project_.plan, leases_, wanted)) take(step);
    return status_;
  }

 private:
  void take(const UpStep& step) {
    const bool starts = step.what == UpStep::What::kStart || step.what == UpStep::What::kReplace;
    if (up_.dry_run || step.what != UpStep::What::kStart) say(told(step, up_.dry_run));
    if (!starts || up_.dry_run) return;
    if (step.what == UpStep::What::kReplace) {
      note(end_session(invocation_, daemon_, leases_.at(step.session->name), Save::kFirst));
      if (failed_) return;
    }
    start(*step.session);
  }

  // What comes after one that was not started is not started either.
  void start(const PlannedSession& session) {
    for (const auto& after : session.after) {
      if (leases_.contains(after.session) && !missing_.contains(after.session)) continue;
      missing_.insert(session.name);
      return say(session.name + ": is not started, since " + after.session + " was not");
    }
    const Result<Submitted> submitted = submit_session(session, project_.label, leases_);
    note(submitted.ok() ? submitted->status : invocation_.fail(submitted.error()));
    if (!submitted.ok() || !submitted->lease) {
      missing_.insert(session.name);
      return;
    }
    leases_[session.name].id = *submitted->lease;
    say(session.name + ": started as " + to_text(*submitted->lease));
  }

  void note(int status) {
    failed_ = status != to_status(ExitCode::kOk);
    if (status_ == to_status(ExitCode::kOk)) status_ = status;
  }
  static void say(const std::string& sentence) { print(sentence + "\n"); }

  Invocation& invocation_;
  DaemonSession& daemon_;
  const UpOptions& up_;
  const Project& project_;
  PlanLeases leases_;  // The ones that count by now.
  std::set<std::string> missing_;
  bool failed_ = false;  // The last that was noted.
  int status_ = to_status(ExitCode::kOk);
};

}  // namespace

int run_up(Invocation& invocation) {
  UpOptions up;
  invocation.about =
      "Starts what the plan of this directory, berth.toml, says: each session as a job, after "
      "those "
      "that it comes after. What runs or waits as the plan has it goes on; what has ended well is "
      "not started again; what the plan says otherwise by now is asked to save itself, ended and "
      "started anew. A plan has to be trusted first: berth trust.";
  invocation.examples = {{"berth up", "all sessions of the plan"},
                         {"berth up trainer", "one, and those that it comes after"},
                         {"berth up --dry-run", "what would be done"}};
  declare_plan_file(invocation.options, up.file);
  invocation.options.add("--again", store(up.again), "start also what has ended well");
  invocation.options.add("--dry-run", store(up.dry_run), "only say what would be done");
  invocation.options.operand("[SESSION...]", store(up.names), "of the plan; all if none is named");
  if (const auto end = invocation.parse()) return *end;
  const Result<Project> project = open_project(up.file);
  if (!project.ok()) return fail_with(invocation, project.error());
  const Status known = check_names(project->plan, up.names);
  if (!known.ok()) return invocation.usage_error(known.error().message);
  if (!settings_of(invocation)) return to_status(ExitCode::kConfig);
  DaemonSession session(invocation);
  if (!session.open()) return session.status();
  auto leases = ask_plan_leases(session, project->label);
  if (!leases) return session.status();
  std::error_code error;
  std::filesystem::current_path(project->directory, error);  // Where the jobs are started.
  if (error)
    return invocation.fail(ExitCode::kOsError, project->directory + ": " + error.message());
  return Up(invocation, session, up, *project, *std::move(leases)).run();
}

}  // namespace berth::cli
