// SPDX-License-Identifier: Apache-2.0
#include "cli/run/session.h"

#include <optional>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "cli/lease_words.h"
#include "cli/render/why.h"
#include "cli/run/desktop.h"
#include "cli/run/devices.h"
#include "cli/run/environment.h"
#include "cli/run/runner.h"
#include "cli/run/words.h"
#include "cli/supervise/supervisor.h"
#include "cli/terminal.h"
#include "client/autostart.h"
#include "enforce/backend.h"
#include "os/users.h"
#include "wire/answers.h"
#include "wire/error.h"
#include "wire/request.h"

namespace berth::cli {
namespace {

class Session {
 public:
  Session(const SessionOptions& options, const config::Config& config, SessionPorts ports)
      : options_(options),
        config_(config),
        enforce_(options.enforce.value_or(config.enforce.mode)),
        ports_(std::move(ports)) {}

  ExitOutcome run();

 private:
  /// Absent: go on.
  using Step = std::optional<ExitOutcome>;

  Step plan();
  Step connect();
  Step take_signals();
  Step find_outer_lease();
  Step find_named_lease();
  std::variant<wire::LeaseAnswer, ExitOutcome> find_lease(const std::string& option,
                                                          const std::string& name);
  Step choose_devices();
  Step find_predecessors();
  Result<std::vector<DeviceView>> ask_devices();
  void learn_models();
  ExitOutcome tell_fit();
  ExitOutcome submit();
  ExitOutcome run_in_turn();
  ExitOutcome run_inside();
  void look_ahead();
  std::variant<Variables, ExitOutcome> variables(const wire::LeaseAnswer& lease);
  Step apply_budget(const LeaseView& lease, Variables& variables);
  void learn_devices();
  std::string on_full() const;
  void announce(const LeaseView& lease);
  bool is_simulated();
  void ignore_outer_lease(const std::string& why);
  ExitOutcome fail(ExitCode code, const std::string& sentence);
  ExitOutcome fail(const Error& error);
  ExitOutcome refused(const client::Answer& answer);
  QueueWait queue_wait();
  Runner runner() {
    return Runner({checked(client_), checked(signals_), ports_.console, ports_.status},
                  options_.command, options_.saves);
  }

  const SessionOptions& options_;
  const config::Config& config_;
  const Enforce enforce_;
  SessionPorts ports_;
  std::optional<RequestPlan> plan_;
  std::optional<client::Client> client_;
  std::optional<os::SignalDescriptor> signals_;
  std::optional<OuterLease> outer_;           // That the environment names.
  std::optional<wire::LeaseAnswer> joining_;  // The lease to run inside of.
  std::optional<std::string> preset_devices_;
  std::vector<DeviceView> devices_;  // As far as they were asked for.
  std::optional<GuardLook> look_;    // From look_ahead().
};

ExitOutcome Session::run() {
  if (const int number = trouble_starting(options_.command.front()); number != 0) {
    return cannot_start(options_.command.front(), number, ports_.console);
  }
  const bool is_job = options_.adopted || options_.submission;
  if (!is_job) outer_ = outer_lease();
  preset_devices_ = preset_visible_devices();
  if (Step end = plan()) return *end;
  if (Step end = connect()) return *end;
  if (options_.lease) {
    if (Step end = find_named_lease()) return *end;
  } else if (outer_ && !options_.new_lease) {
    if (Step end = find_outer_lease()) return *end;
  }
  if (!joining_) {
    if (!plan_) {  // Nothing to join, and no word about memory where one is needed.
      const Step end = plan();
      return checked(end);
    }
    if (!options_.adopted) {
      if (Step end = choose_devices()) return *end;
      if (Step end = find_predecessors()) return *end;
    }
    if (options_.dry_run) return tell_fit();
  }
  if (Step end = take_signals()) return *end;
  if (options_.submission) return submit();
  return joining_ ? run_inside() : run_in_turn();
}

Session::Step Session::plan() {
  Result<RequestPlan> plan = plan_request(options_.request, config_);
  // Inside a lease nothing need be said about memory.
  const bool is_inside = options_.lease || (outer_ && !client_);
  if (!plan.ok() && is_inside && !options_.request.asks_for_room()) return std::nullopt;
  if (!plan.ok()) return fail(ExitCode::kUsage, plan.error().message);
  const Result<OverBudget> measure = plan_over_budget(options_.over_budget, config_, enforce_);
  if (!measure.ok()) return fail(ExitCode::kUsage, measure.error().message);
  Request& request = plan_.emplace(*std::move(plan)).request;
  request.over_budget = *measure;
  request.command = command_text(options_.command);
  Result<std::optional<CheckpointWay>> saves = checkpoint_way_of(options_.saves);
  if (!saves.ok()) return fail(ExitCode::kUsage, saves.error().message);
  request.checkpoint = *saves;
  if (options_.saves.requeue) {
    request.requeue_grace = options_.saves.grace.value_or(CheckpointWay{}.grace);
  }
  if (options_.new_lease && outer_) request.ancestors = outer_->ancestors;
  return std::nullopt;
}

Session::Step Session::connect() {
  Result<client::Client> client = client::Client::connect(ports_.client);
  if (!client.ok()) return fail(client.error());
  client_ = *std::move(client);
  if (!options_.dry_run && wants_desktop(config_)) show_on_desktop(*client_);
  return std::nullopt;
}

// From here on Ctrl-C is ours to handle.
Session::Step Session::take_signals() {
  Result<os::SignalDescriptor> signals = os::SignalDescriptor::open(supervised_signals());
  if (!signals.ok()) return fail(ExitCode::kOsError, signals.error().message);
  signals_ = *std::move(signals);
  return std::nullopt;
}

// A lease that the environment names is joined if it is held and ours; else the name is stale.
Session::Step Session::find_outer_lease() {
  const std::optional<Handle>& outer = checked(outer_).handle;
  if (!outer) {
    ignore_outer_lease("is no handle");
    return std::nullopt;
  }
  const Result<client::Answer> answer =
      checked(client_).connection().ask({.route = wire::Route::kLease, .lease = to_text(*outer)});
  if (!answer.ok() && answer.error().code == Errc::kConflict) {
    // The lease's socket came with its variables; our world has another one.
    ignore_outer_lease("belongs to another machine, simulated or real");
    ports_.client.env.socket.clear();
    return connect();
  }
  if (!answer.ok()) return fail(answer.error());
  if (answer->status == 404 || answer->status == 403) {
    ignore_outer_lease("is not known to this daemon");
    return std::nullopt;
  }
  if (!answer->ok()) return refused(*answer);
  Result<wire::LeaseAnswer> lease = wire::decode_lease(answer->body);
  if (!lease.ok()) return fail(ExitCode::kVersion, lease.error().message);
  if (lease->view.state != LeaseState::kHeld && lease->view.state != LeaseState::kSuspended) {
    const bool ended = lease->view.state == LeaseState::kEnded;
    ignore_outer_lease(ended ? "has ended" : "is " + std::string(to_text(lease->view.state)));
  } else if (lease->view.user != os::own_user()) {
    ignore_outer_lease("is another user's");
  } else {
    joining_ = *std::move(lease);
  }
  return std::nullopt;
}

// --lease. What the environment names may be stale; this was meant.
Session::Step Session::find_named_lease() {
  std::variant<wire::LeaseAnswer, ExitOutcome> found =
      find_lease("--lease", checked(options_.lease));
  if (const ExitOutcome* end = std::get_if<ExitOutcome>(&found)) return *end;
  joining_ = std::get<wire::LeaseAnswer>(std::move(found));
  const auto fault = fault_of_joining(checked(joining_).view, os::own_user());
  return fault ? Step(fail(fault->code, fault->sentence)) : std::nullopt;
}

void Session::ignore_outer_lease(const std::string& why) {
  ports_.console.say("BERTH_LEASE_ID=" + checked(outer_).handle_text + " " + why +
                     ": asking for a new lease");
}

ExitOutcome Session::run_inside() {
  std::string too_much = too_much_text(checked(joining_).view, options_.request,
                                       options_.lease ? Joining::kNamed : Joining::kOuter);
  if (too_much.empty() && options_.over_budget) {
    too_much = "lease " + to_text(checked(joining_).view.id) +
               " has said what becomes of it when it is over its budget: --new-lease";
  }
  if (!too_much.empty()) return fail(ExitCode::kNoPermission, too_much);
  const std::string number = to_text(checked(joining_).view.id);
  if (options_.dry_run) {
    ports_.console.say("would join lease " + number + " (" + held_text(checked(joining_).view) +
                       ")");
    return {};
  }
  Runner runner = this->runner();
  if (Step end = runner.hold()) return *end;
  look_ahead();
  const Result<client::Answer> answer =
      checked(client_).connection().ask({.route = wire::Route::kJoin,
                                         .lease = to_text(checked(joining_).view.handle),
                                         .body = runner.process()});
  if (!answer.ok()) return fail(answer.error());
  if (!answer->ok()) return refused(*answer);
  const Result<wire::LeaseAnswer> lease = wire::decode_lease(answer->body);
  if (!lease.ok()) return fail(ExitCode::kVersion, lease.error().message);
  std::variant<Variables, ExitOutcome> variables = this->variables(*lease);
  if (ExitOutcome* left = std::get_if<ExitOutcome>(&variables)) return *left;
  if (options_.saves.way) {
    ports_.console.say(
        "inside a lease nobody asks a command to save itself: --checkpoint is for the " +
        std::string("outer berth run, or --new-lease"));
  }
  if (options_.saves.requeue) {
    ports_.console.say("inside a lease a command is not requeued by itself: --requeue is for the " +
                       std::string("outer berth run, or --new-lease"));
  }
  ports_.console.say("joining lease " + number + " (" + held_text(lease->view) + ")");
  const Step left =
      runner.run(*lease, std::get<Variables>(variables).changes, Runner::Lease::kJoined);
  return checked(left);
}

// -g, or a CUDA_VISIBLE_DEVICES that leaves no choice.
Session::Step Session::find_predecessors() {
  for (const RequestOptions::After& one : options_.request.after) {
    const std::variant<wire::LeaseAnswer, ExitOutcome> found = find_lease("--after", one.lease);
    if (const ExitOutcome* end = std::get_if<ExitOutcome>(&found)) return *end;
    const LeaseView& lease = std::get<wire::LeaseAnswer>(found).view;
    checked(plan_).request.after.push_back({lease.id, one.ends});
  }
  return std::nullopt;
}

std::variant<wire::LeaseAnswer, ExitOutcome> Session::find_lease(const std::string& option,
                                                                 const std::string& name) {
  const Result<LeaseWord> word = parse_lease_word(name);
  if (!word.ok()) return fail(ExitCode::kUsage, option + ": " + word.error().message);
  const auto* reference = std::get_if<LeaseReference>(&*word);
  if (reference == nullptr) {
    return fail(ExitCode::kUsage, option + ": '" + name + "' is not one lease, but several");
  }
  const Result<client::Answer> answer =
      checked(client_).connection().ask({.route = wire::Route::kLease, .lease = reference->text});
  if (!answer.ok()) return fail(answer.error());
  if (!answer->ok()) return refused(*answer);
  Result<wire::LeaseAnswer> lease = wire::decode_lease(answer->body);
  if (!lease.ok()) return fail(ExitCode::kVersion, lease.error().message);
  return *std::move(lease);
}

Session::Step Session::choose_devices() {
  DeviceChoice choice;
  if (options_.request.gpus) {
    const Result<DeviceChoice> parsed = parse_device_choice(*options_.request.gpus);
    if (!parsed.ok()) return fail(ExitCode::kUsage, parsed.error().message);
    choice = *parsed;
  } else if (preset_devices_) {
    const DeviceChoice preset = choice_of_visible_devices(*preset_devices_);
    if (preset.count == 1) {
      ports_.console.say("CUDA_VISIBLE_DEVICES is \"" + *preset_devices_ +
                         "\": asking for that GPU");
      choice = preset;
    }
  }
  if (needs_device_list(choice)) {
    Result<std::vector<DeviceView>> devices = ask_devices();
    if (!devices.ok()) return fail(devices.error());
    devices_ = *std::move(devices);
  }
  Result<std::vector<DeviceName>> names = resolve(choice, devices_);
  if (!names.ok()) return fail(exit_code(names.error().code), names.error().message);
  Request& request = checked(plan_).request;
  request.device_count = choice.count;
  request.devices = *std::move(names);
  return std::nullopt;
}

Result<std::vector<DeviceView>> Session::ask_devices() {
  TRY(answer, checked(client_).connection().ask({.route = wire::Route::kDevices}));
  if (!answer.ok()) return Error{Errc::kUnavailable, wire::decode_error(answer.body).message};
  TRY(devices, wire::decode_devices(answer.body));
  return std::move(devices.list.items);
}

ExitOutcome Session::tell_fit() {
  const Result<client::Answer> answer = checked(client_).connection().ask(
      {.route = wire::Route::kFit, .body = checked(plan_).body()});
  if (!answer.ok()) return fail(answer.error());
  if (!answer->ok()) return refused(*answer);
  const Result<FitView> fit = wire::decode_fit(answer->body);
  if (!fit.ok()) return fail(ExitCode::kVersion, fit.error().message);
  RenderContext context = ports_.console.context();
  context.simulated = is_simulated();
  print(fit_text(*fit, context));
  return {.code = to_status(fit->fits ? ExitCode::kOk : ExitCode::kTryLater)};
}

// What is said here goes to a person; the number to stdout, for scripts as well.
ExitOutcome Session::submit() {
  const RequestPlan& plan = checked(plan_);
  if (!plan.about_default.empty()) ports_.console.say(plan.about_default);
  Submission submission = checked(options_.submission);
  submission.request = plan.body();
  submission.request.request.key.clear();  // That of the set.
  checked(plan_).request.members = static_cast<std::uint32_t>(submission.lines.size());
  QueueWait queue_wait = this->queue_wait();
  const std::variant<LeaseView, ExitOutcome> queued = queue_wait.wait_until_queued();
  if (const ExitOutcome* left = std::get_if<ExitOutcome>(&queued)) {
    const std::optional<LeaseId> existing = left->exists();
    if (!existing) return *left;
    ports_.console.say(checked(left->error).message);
    print(to_text(*existing) + "\n");
    return {};
  }
  const auto& lease = std::get<LeaseView>(queued);
  const Status submitted = cli::submit(checked(client_), ports_.client.env, lease, submission);
  if (!submitted.ok()) return fail(submitted.error());
  // It may run already; its number is told once it is on the disk.
  const Status synced = sync_submission(checked(client_), ports_.client.env, lease.id);
  if (!synced.ok()) {
    ports_.console.complain("lease " + to_text(lease.id) +
                            " is queued, but a power cut could take it: " + synced.error().message);
  }
  print(to_text(lease.id) + "\n");
  return {};
}

QueueWait Session::queue_wait() {
  const RequestPlan& plan = checked(plan_);
  return QueueWait(
      {checked(client_), ports_.client, checked(signals_), ports_.console, ports_.status},
      plan.body());
}

ExitOutcome Session::run_in_turn() {
  if (!checked(plan_).about_default.empty()) ports_.console.say(checked(plan_).about_default);
  learn_models();
  QueueWait queue_wait = this->queue_wait();
  if (options_.adopted) queue_wait.adopt(options_.adopted->handle, options_.adopted->restarts);
  Runner runner = this->runner();
  while (true) {
    queue_wait.begin();
    // While it waits anyway; and once more if it was killed meanwhile.
    if (Step end = runner.hold()) return *end;
    look_ahead();
    const std::variant<QueueWait::Granted, ExitOutcome> granted = queue_wait.wait();
    if (const ExitOutcome* left = std::get_if<ExitOutcome>(&granted)) {
      return left->exists() ? fail(ExitCode::kFailed, checked(left->error).message) : *left;
    }
    if (Step end = runner.hold()) return *end;
    auto claimed = queue_wait.claim(runner.process(), [this] { look_ahead(); });
    if (ExitOutcome* left = std::get_if<ExitOutcome>(&claimed)) return *left;
    const auto& lease = std::get<std::optional<wire::LeaseAnswer>>(claimed);
    if (!lease) continue;
    std::variant<Variables, ExitOutcome> variables = this->variables(*lease);
    if (ExitOutcome* left = std::get_if<ExitOutcome>(&variables)) {
      runner.give_back(*lease, left->code);
      return *left;
    }
    announce(lease->view);
    const Step left =
        runner.run(*lease, std::get<Variables>(variables).changes, Runner::Lease::kOwn);
    if (left) return *left;
    queue_wait.wait_again(lease->view.restarts + 1);
  }
}

// What the files of the command and of ours say: before the wait, and, if the command's file is
// another one since, while the daemon is busy with the claim.
void Session::look_ahead() {
  if (look_ && !is_outdated(*look_, options_.command.front())) return;
  const Result<std::string> own = client::sibling_program("berth");
  look_ = look_for_guard(options_.command.front(), own.ok() ? *own : "");
}

std::variant<Variables, ExitOutcome> Session::variables(const wire::LeaseAnswer& lease) {
  VariablesInput input{.lease = lease, .socket = checked(client_).socket()};
  if (options_.new_lease && outer_) input.outer = outer_->ancestors;
  if (is_simulated() && !checked(look_).own_path.empty()) {
    input.library_path = library_path_with_simulated_driver(checked(look_).own_path);
  }
  input.preset_devices = preset_devices_;
  Result<Variables> variables = variables_for(input);
  if (!variables.ok()) return fail(ExitCode::kUsage, variables.error().message);
  if (!variables->narrowed.empty()) ports_.console.say(variables->narrowed);
  if (Step end = apply_budget(lease.view, *variables)) return *end;
  return *std::move(variables);
}

Session::Step Session::apply_budget(const LeaseView& lease, Variables& variables) {
  // The sample after which the lease was granted has told what is measured; an older answer may
  // not.
  if (enforce_ == Enforce::kWatchdog) learn_devices();
  const EnforcementPlan plan =
      plan_enforcement({.mode = enforce_,
                        .guard = {.mode = options_.guard_mode,
                                  .socket = checked(client_).socket(),
                                  .lease = lease.handle,
                                  .preloaded = std::string(environment_text("LD_PRELOAD")),
                                  .audited = std::string(environment_text("LD_AUDIT")),
                                  .asan_options = std::string(environment_text("ASAN_OPTIONS")),
                                  .on_full = on_full()},
                        .look = checked(look_),
                        .visible = variables.visible,
                        .devices = devices_,
                        .mps_pipes = environment_text(enforce::kMpsPipes),
                        .simulated = is_simulated()});
  if (!plan.refusal.empty()) return fail(ExitCode::kUnavailable, plan.refusal);
  if (!plan.remark.empty()) ports_.console.complain(plan.remark);
  // What the outer lease may have is nothing to this one.
  if (options_.new_lease && outer_) variables.changes.unset.emplace_back(enforce::kMpsLimit);
  for (const auto& [name, value] : plan.set) variables.changes.set[name] = value;
  std::erase_if(variables.changes.unset,
                [&](const std::string& name) { return plan.set.contains(name); });
  return std::nullopt;
}

// What joins a lease waits as long as what it was started by, unless it is told.
std::string Session::on_full() const {
  if (options_.on_full) return on_full_text(*options_.on_full);
  return joining_ ? std::string(environment_text(kOnFull)) : "";
}

void Session::announce(const LeaseView& lease) {
  learn_models();
  const std::string text =
      granted_text({.lease = lease, .devices = devices_, .simulated = is_simulated()});
  const std::uint32_t restarts = lease.restarts;
  ports_.console.say(restarts == 0 ? text : text + ", restart " + std::to_string(restarts));
  if (options_.notify) ports_.console.notify(text);
  const std::string hint =
      count_hint(options_.request.gpus.value_or(""), lease.parts, devices_.size());
  if (ports_.console.is_for_terminal() && !hint.empty()) ports_.console.say(hint);
}

// What GPUs are called is for people, and no reason to fail. It is asked before the wait, so that
// it takes no time from a grant; a daemon that has just started may not know it by then.
void Session::learn_models() {
  if (!ports_.console.quiet() && devices_.empty()) learn_devices();
}

void Session::learn_devices() {
  if (Result<std::vector<DeviceView>> devices = ask_devices(); devices.ok()) {
    devices_ = *std::move(devices);
  }
}

bool Session::is_simulated() {
  const std::optional<wire::ServerHello>& daemon = checked(client_).connection().daemon();
  return daemon && daemon->simulated;
}

ExitOutcome Session::fail(ExitCode code, const std::string& sentence) {
  ports_.console.complain(sentence);
  return {.code = to_status(code)};
}

ExitOutcome Session::fail(const Error& error) {
  return fail(client::exit_status_of(error), error.message);
}

ExitOutcome Session::refused(const client::Answer& answer) {
  const wire::ApiError error = wire::decode_error(answer.body);
  return fail(wire::exit_code(error.code), error.message);
}

}  // namespace

ExitOutcome run_session(const SessionOptions& options, const config::Config& config,
                        SessionPorts ports) {
  StatusDescriptor& status = ports.status;
  const ExitOutcome left = Session(options, config, std::move(ports)).run();
  status.ended(left.code);
  return left;
}

}  // namespace berth::cli
