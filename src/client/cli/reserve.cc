// SPDX-License-Identifier: Apache-2.0
// `berth reserve`: a lease without a command, for a time; its variables go to the caller's shell.
#include <optional>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/quantity.h"
#include "cli/daemon_session.h"
#include "cli/render/items.h"
#include "cli/run/console.h"
#include "cli/run/enforcing.h"
#include "cli/run/environment.h"
#include "cli/run/named_devices.h"
#include "cli/run/options.h"
#include "cli/run/queue_wait.h"
#include "cli/run/request.h"
#include "cli/run/words.h"
#include "cli/settings.h"
#include "cli/supervise/death.h"
#include "cli/supervise/supervisor.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "client/autostart.h"
#include "enforce/backend.h"
#include "os/processes.h"
#include "wire/request.h"

namespace berth::cli {
namespace {

struct ReserveOptions {
  RequestOptions request;
  std::optional<Duration> duration;
  bool shell = false;
  bool json = false;
  bool quiet = false;
};

void declare(Invocation& invocation, ReserveOptions& reserve) {
  Options& options = invocation.options;
  options.operand("DURATION", store_positive(reserve.duration),
                  "how long: 90s, 30m, 2h; renew makes it longer");
  declare_room(options, reserve.request);
  declare_turn(options, reserve.request);
  declare_names(options, reserve.request);
  declare_carried(options, reserve.request.carried, Carried::kWithoutACommand);
  options.add("--export", store(reserve.shell), "print the variables as a shell reads them");
  options.add("--json", store(reserve.json), "print the lease as JSON");
  options.add("-q,--quiet", store(reserve.quiet), "print only errors and what no budget holds");
}

// On a terminal a reservation ends with the session: with the leader, not with our parent, which in
// $(berth reserve …) is a subshell that is gone at once.
std::optional<Process> anchor() {
  const Result<os::ProcessState> self = os::process_state(os::self().pid);
  if (!self.ok() || self->terminal == 0) return std::nullopt;
  const Result<Process> leader = os::session_leader(self->process);
  return leader.ok() ? std::optional(*leader) : std::nullopt;
}

// Whose variables they are going to be, and those of what it starts.
std::string shell_of_caller() {
  const Result<os::ProcessState> self = os::process_state(os::self().pid);
  return self.ok() ? "/proc/" + std::to_string(self->parent_pid) + "/exe" : "/bin/sh";
}

std::string exports(const VariableChanges& variables) {
  std::string text;
  for (const auto& [name, value] : variables.set) {
    std::string assignment = name;
    assignment.append("=").append(value);
    text.append("export ").append(command_text({assignment})) += '\n';
  }
  for (const std::string& name : variables.unset) text += "unset " + name + "\n";
  return text;
}

class Reservation {
 public:
  Reservation(Invocation& invocation, const ReserveOptions& options, Enforce enforce,
              Console& console)
      : options_(options),
        enforce_(enforce),
        terminal_(invocation.terminal),
        console_(console),
        session_(invocation) {}

  ExitOutcome make(RequestPlan plan, const DeviceChoice& choice);

 private:
  std::variant<wire::LeaseAnswer, ExitOutcome> wait(const RequestPlan& plan);
  std::variant<wire::LeaseAnswer, ExitOutcome> find_existing(LeaseId id);
  ExitOutcome tell(const LeaseView& lease);
  ExitOutcome tell_variables(const LeaseView& lease);
  bool apply_budget(const LeaseView& lease, const std::string& own_path, Variables& variables);
  ExitOutcome failed() { return {.code = session_.status()}; }

  const ReserveOptions& options_;
  const Enforce enforce_;
  const Terminal& terminal_;
  Console& console_;
  DaemonSession session_;
};

ExitOutcome Reservation::make(RequestPlan plan, const DeviceChoice& choice) {
  if (options_.quiet) session_.be_quiet();
  if (!session_.open()) return failed();
  if (!fill_devices(choice, session_, plan.request)) return failed();
  if (!plan.about_default.empty()) console_.say(plan.about_default);
  std::variant<wire::LeaseAnswer, ExitOutcome> granted = wait(plan);
  if (const ExitOutcome* left = std::get_if<ExitOutcome>(&granted)) return *left;
  const LeaseView& lease = std::get<wire::LeaseAnswer>(granted).view;
  const auto& daemon = session_.client().connection().daemon();
  const std::string number = to_text(lease.id);
  console_.say(
      granted_text({.lease = lease, .devices = {}, .simulated = daemon && daemon->simulated}) +
      ", for " + to_text(checked(options_.duration)) + " (berth renew " + number +
      " DURATION, berth release " + number + ")");
  if (console_.is_for_terminal()) {
    const std::string hint = hint_at_count(options_.request.gpus, lease.parts, session_);
    if (!hint.empty()) console_.say(hint);
  }
  return tell(lease);
}

std::variant<wire::LeaseAnswer, ExitOutcome> Reservation::wait(const RequestPlan& plan) {
  Result<os::SignalDescriptor> signals = os::SignalDescriptor::open(supervised_signals());
  if (!signals.ok()) {
    session_.fail(ExitCode::kOsError, signals.error().message);
    return failed();
  }
  StatusDescriptor status;
  const client::ClientOptions again{.env = os::read_environment(),
                                    .autostart = client::Autostart::kIfNeeded,
                                    .version = BERTH_VERSION};
  QueueWait queue_wait({session_.client(), again, *signals, console_, status}, plan.body(anchor()));
  const std::variant<QueueWait::Granted, ExitOutcome> granted = queue_wait.wait();
  if (const ExitOutcome* left = std::get_if<ExitOutcome>(&granted)) {
    const std::optional<LeaseId> existing = left->exists();
    return existing ? find_existing(*existing) : *left;
  }
  Result<wire::LeaseAnswer> lease = queue_wait.granted();
  if (lease.ok()) return *std::move(lease);
  session_.fail(ExitCode::kVersion, lease.error().message);
  return failed();
}

// --key: the answer to the first request was lost, or nobody remembers it.
std::variant<wire::LeaseAnswer, ExitOutcome> Reservation::find_existing(LeaseId id) {
  auto lease =
      session_.ask({.route = wire::Route::kLease, .lease = to_text(id)}, wire::decode_lease);
  if (!lease) return failed();
  if (lease->view.state == LeaseState::kHeld) return *std::move(lease);
  const bool waits = lease->view.state == LeaseState::kWaiting;
  session_.fail(waits ? ExitCode::kTryLater : ExitCode::kNoInput,
                "lease " + to_text(id) + ", asked for with this key, " +
                    (waits ? "waits for its turn (berth why " + to_text(id) + ")"
                           : "has ended: another key asks for another one"));
  return failed();
}

ExitOutcome Reservation::tell(const LeaseView& lease) {
  if (options_.shell) return tell_variables(lease);
  if (!options_.json) {
    print(to_text(lease.id) + "\n");
    return {};
  }
  const auto body = session_.ask({.route = wire::Route::kLease, .lease = to_text(lease.handle)});
  if (!body) return failed();
  const auto text = render_items({.json = *body,
                                  .simulated = session_.is_simulated(),
                                  .on_terminal = terminal_.output_is_terminal},
                                 {.format = Format::kJson}, {});
  if (!text.ok()) {
    session_.fail(exit_code(text.error().code), text.error().message);
    return failed();
  }
  print(*text);
  return {};
}

// The daemon says which variables a process of the lease gets when one joins it. We join, and are
// gone in a moment; a reservation does not mind.
ExitOutcome Reservation::tell_variables(const LeaseView& lease) {
  const auto joined = session_.ask(
      {.route = wire::Route::kJoin, .lease = to_text(lease.handle), .body = os::self()},
      wire::decode_lease);
  if (!joined) return failed();
  VariablesInput input{.lease = *joined, .socket = session_.client().socket()};
  const Result<std::string> found = client::sibling_program("berth");
  const std::string own_path = found.ok() ? *found : "";
  if (session_.is_simulated() && !own_path.empty()) {
    input.library_path = library_path_with_simulated_driver(own_path);
  }
  Result<Variables> variables = variables_for(input);
  CHECK(variables.ok());  // Nothing is narrowed here.
  if (!apply_budget(joined->view, own_path, *variables)) return failed();
  print(exports(variables->changes));
  return {};
}

// What is started from the shell is held as the command of `run` is. False: it shall be and cannot,
// and the lease is given back.
bool Reservation::apply_budget(const LeaseView& lease, const std::string& own_path,
                               Variables& variables) {
  const GuardLook look = look_for_guard(shell_of_caller(), own_path);
  const EnforcementPlan plan =
      plan_enforcement({.mode = enforce_,
                        .guard = {.mode = GuardMode::kAuto,
                                  .socket = session_.client().socket(),
                                  .lease = lease.handle,
                                  .preloaded = std::string(environment_text("LD_PRELOAD")),
                                  .audited = std::string(environment_text("LD_AUDIT")),
                                  .asan_options = std::string(environment_text("ASAN_OPTIONS")),
                                  .on_full = {}},
                        .look = look,
                        .visible = variables.visible,
                        .devices = {},
                        .mps_pipes = environment_text(enforce::kMpsPipes),
                        .simulated = session_.is_simulated().value_or(false)});
  if (!plan.refusal.empty()) {
    static_cast<void>(session_.ask(
        {.route = wire::Route::kRelease, .lease = to_text(lease.handle), .body = ReleaseBody{}}));
    session_.fail(ExitCode::kUnavailable, plan.refusal);
    return false;
  }
  if (!plan.remark.empty()) console_.say(plan.remark);
  for (const auto& [name, value] : plan.set) variables.changes.set[name] = value;
  std::erase_if(variables.changes.unset,
                [&](const std::string& name) { return plan.set.contains(name); });
  return true;
}

}  // namespace

int run_reserve(Invocation& invocation) {
  ReserveOptions reserve;
  invocation.about =
      "Asks for GPU memory without a command, for a time. On a terminal the reservation also ends "
      "when the shell of that terminal ends. Prints its number; with --export, what makes a shell "
      "and the programs started from it a part of the lease, held to its budget.";
  invocation.examples = {
      {"eval \"$(berth reserve 2h -m 8G --export)\"", "this shell works with 8 GiB for two hours"},
      {"berth reserve 30m -x --no-wait", "a whole GPU now, or 75"}};
  declare(invocation, reserve);
  invocation.is_for_programs = [&reserve] { return reserve.json; };
  if (const auto end = invocation.parse()) return *end;
  if (reserve.request.learned) {
    return invocation.usage_error(
        "-m auto: a reservation has no command of which anything is known; say how much");
  }
  if (reserve.shell && reserve.json) {
    return invocation.usage_error("--export and --json exclude each other");
  }
  const auto config = request_settings_of(invocation);
  if (!config) return to_status(ExitCode::kConfig);
  name_session(reserve.request);
  Result<RequestPlan> plan = plan_request(reserve.request, *config);
  if (!plan.ok()) return invocation.usage_error(plan.error().message);
  const Result<DeviceChoice> choice = choice_of(reserve.request.gpus);
  if (!choice.ok()) return invocation.usage_error(choice.error().message);
  plan->request.ttl = reserve.duration;
  if (const auto outer = outer_lease()) plan->request.ancestors = outer->ancestors;

  Console console(invocation.terminal,
                  reserve.quiet ? Console::Volume::kQuiet : Console::Volume::kNormal);
  const ExitOutcome left = Reservation(invocation, reserve, config->enforce.mode, console)
                               .make(*std::move(plan), *choice);
  if (left.error) invocation.print_error(*left.error);
  if (left.signal != 0) die_of(left.signal);
  return left.code;
}

}  // namespace berth::cli
