// SPDX-License-Identifier: Apache-2.0
#include "cli/plan/project.h"

#include <sys/wait.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/nearest.h"
#include "base/number.h"
#include "cli/lease_words.h"
#include "cli/leases.h"
#include "cli/render/text.h"
#include "config/problem.h"
#include "os/paths.h"
#include "os/program_output.h"
#include "os/programs.h"
#include "os/users.h"

namespace berth::cli {
namespace {

constexpr std::size_t kNumberMax = 64;  // Bytes of what submit prints.

std::string_view option_of(Ends ends) {
  switch (ends) {
    case Ends::kOk:
      return "--after-ok=";
    case Ends::kFailed:
      return "--after-fail=";
    case Ends::kAny:
      break;
  }
  return "--after=";
}

/// Another verb of ours, as if it had been typed.
int run_also(const Invocation& invocation, std::string_view verb, const LeaseView& lease) {
  const Verb& other = *find_verb(verb);
  Invocation also{.verb = other, .arguments = {to_text(lease.id)}, .common = invocation.common};
  return other.run(also);
}

bool has_ended(DaemonSession& daemon, const LeaseView& lease) {
  const client::HttpRequest question{.route = wire::Route::kLease, .lease = reference_to(lease)};
  const auto now = client::told(daemon.client().connection().ask(question), wire::decode_lease);
  return now && now->view.state == LeaseState::kEnded;
}

}  // namespace

void declare_plan_file(Options& options, std::string& file) {
  options.add("-f,--file=FILE", store(file),
              "the plan; berth.toml of this directory is the default");
}

Result<Plan> understood(const PlanText& text) {
  auto plan = parse_plan(text.path, text.content);
  if (auto* good = std::get_if<Plan>(&plan)) return std::move(*good);
  std::string sentence;
  for (const config::Problem& problem : std::get<config::Problems>(plan)) {
    sentence += (sentence.empty() ? "" : "\n") + to_text(problem);
  }
  return Error{Errc::kInvalid, sentence};
}

int fail_with(const Invocation& invocation, const Error& error) {
  if (error.code != Errc::kInvalid) return invocation.fail(error);
  complain(escape_control_lines(error.message, {.unicode = invocation.terminal.unicode}) + "\n");
  return to_status(ExitCode::kDataError);
}

Result<Project> open_project(const std::string& file) {
  TRY(text, read_plan(file));
  TRY(plan, understood(text));
  TRY(trusted, TrustedPlans::find(os::read_environment()));
  TRY(known, trusted.content(text.path));
  const std::string cure = "berth trust" + (file == kPlanFile ? "" : " " + file);
  if (!known) {
    return Error{Errc::kPermission, text.path +
                                        " holds commands, and you have not said yet that you "
                                        "trust it: " +
                                        cure};
  }
  if (*known != text.content) {
    return Error{Errc::kPermission,
                 text.path + " has changed since you trusted it: " + cure + " shows what is new"};
  }
  return Project{
      .directory = text.directory, .label = plan_label(text.path), .plan = std::move(plan)};
}

Status check_names(const Plan& plan, const std::vector<std::string>& names) {
  std::vector<std::string_view> known;
  known.reserve(plan.sessions.size());
  for (const PlannedSession& session : plan.sessions) known.push_back(session.name);
  for (const std::string& name : names) {
    if (plan.find(name) != nullptr) continue;
    const std::string_view meant = nearest(name, known).value_or("");
    std::string sentence = "the plan has no session '" + name + "'";
    if (!meant.empty()) return wrong(sentence + "; did you mean " + cli::quoted(meant) + "?");
    sentence += "; it has";
    for (const std::string_view one : known) sentence += " " + std::string(one);
    return wrong(sentence);
  }
  return Unit{};
}

std::optional<PlanLeases> ask_plan_leases(DaemonSession& session, const std::string& label) {
  const auto pages = ask_leases(session, Leases::kAll);
  if (!pages) return std::nullopt;
  const auto list = session.understood(decode_pages(*pages));
  if (!list) return std::nullopt;
  return leases_of_plan(list->items, os::own_user(), label);
}

Result<Submitted> submit_session(const PlannedSession& session, const std::string& label,
                                 const PlanLeases& leases) {
  TRY(berth, os::sibling_program("berth"));
  std::vector<std::string> words = {berth, "submit", "--quiet", "--name=" + session.name};
  for (const std::string& option : session.options) words.push_back(option);
  words.push_back("--label=" + std::string(kPlanLabel) + "=" + label);
  words.push_back("--label=" + std::string(kDefinitionLabel) + "=" + session.fingerprint());
  for (const auto& [name, ends] : session.after) {
    words.push_back(std::string(option_of(ends)) + to_text(leases.at(name).id));
  }
  words.emplace_back("--");
  words.insert(words.end(), session.command.begin(), session.command.end());
  TRY(ended, os::output_of({.words = std::move(words)}, {.bytes_max = kNumberMax}));
  const auto id =
      parse_number<std::uint64_t>(std::string_view(ended.text).substr(0, ended.text.find('\n')));
  Submitted submitted{.status = WIFEXITED(ended.status) ? WEXITSTATUS(ended.status)
                                                        : to_status(ExitCode::kFailed)};
  if (id && submitted.status == to_status(ExitCode::kOk)) submitted.lease = LeaseId{*id};
  return submitted;
}

// One that ends by itself meanwhile is ended as well.
int end_session(const Invocation& invocation, DaemonSession& daemon, const LeaseView& lease,
                Save save) {
  const bool runs = lease.state == LeaseState::kHeld;
  if (save == Save::kFirst && runs && lease.request.checkpoint) {
    const int saved = run_also(invocation, "checkpoint", lease);
    if (saved != to_status(ExitCode::kOk) && !has_ended(daemon, lease)) return saved;
  }
  const int ended = run_also(invocation, "cancel", lease);
  return has_ended(daemon, lease) ? to_status(ExitCode::kOk) : ended;
}

}  // namespace berth::cli
