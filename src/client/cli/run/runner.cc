// SPDX-License-Identifier: Apache-2.0
#include "cli/run/runner.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "cli/run/devices.h"
#include "cli/run/leak.h"
#include "cli/run/lease_watch.h"
#include "cli/run/shutdown.h"
#include "cli/run/words.h"
#include "cli/supervise/supervisor.h"
#include "os/clock.h"
#include "os/paths.h"
#include "wire/answers.h"
#include "wire/error.h"
#include "wire/history.h"
#include "wire/request.h"
#include "wire/routes.h"

namespace berth::cli {
namespace {

// The command has ended, and those who wait for it wait for us.
constexpr Duration kReportWithin = seconds(5);
constexpr Duration kJobReportWithin = minutes(10);
constexpr int kReportEveryMs = 100;  // Far less than the daemon waits for it.
constexpr Duration kLeakWorthAsking = seconds(20);
constexpr int kShellSignals = 128;

/// Of a command that joined a lease: nobody to listen to.
class Nobody final : public Observer {
 public:
  int descriptor() const override { return -1; }
  Instant wake_at() const override { return Instant::never(); }
  void readable() override {}
  void woke(Instant) override {}
};

bool was_revoked(const std::optional<EndResult>& result) {
  return result == EndResult::kLimit || result == EndResult::kCancelled ||
         result == EndResult::kOverBudget;
}

bool was_refused(const enforce::Use& use) {
  return std::ranges::any_of(use.parts,
                             [](const enforce::Use::Part& part) { return part.refused > 0; });
}

// At the terminal, which had the command for itself: as such a signal, or as shells tell of it.
bool is_typed(const ExitStatus& exit) {
  const int signal = exit.signal != 0 ? exit.signal : exit.code - kShellSignals;
  return signal == SIGINT || signal == SIGQUIT;
}

std::optional<RefusedAllocation> refused_in(const enforce::Use& use, const LeaseView& lease,
                                            Instant started) {
  if (!use.refusal) return std::nullopt;
  RefusedAllocation last{.bytes = use.refusal->bytes,
                         .used = use.refusal->used,
                         .budget = lease.parts.at(use.refusal->part).granted,
                         .after = use.refusal->at - started};
  // Another clock than ours: in a time namespace of its own.
  const bool possible = use.refusal->at >= started && use.refusal->at <= os::PosixClock().now();
  if (!possible) last.after.reset();
  return last;
}

}  // namespace

ExitOutcome cannot_start(const std::string& name, int number, Console& console) {
  const bool missing = number == ENOENT;
  std::string reason = ::strerrordesc_np(number);
  if (missing) reason = "there is no such command";
  // As one quoted word: "vram_user --hold 1s".
  if (missing && name.find(' ') != std::string::npos) {
    reason += "; leave out the quotes, or run it by a shell: sh -c '...'";
  }
  if (number == EACCES) reason = "it is not executable";
  console.complain("cannot start \"" + name + "\": " + reason);
  return {.code = to_status(missing ? ExitCode::kCommandNotFound : ExitCode::kNotExecutable)};
}

Runner::Runner(Ports ports, std::vector<std::string> words, SaveOptions saves)
    : ports_(ports), words_(std::move(words)), saves_(std::move(saves)) {
  adopt_orphans();
}

std::optional<ExitOutcome> Runner::hold() {
  if (command_ && command_->is_waiting()) return std::nullopt;
  command_.reset();
  // The end of the connection withdraws the request, so nobody else may have it open.
  Result<HeldCommand> command =
      HeldCommand::make(words_, {.mask = ports_.signals.mask_before(),
                                 .not_inherited = ports_.client.connection().descriptor()});
  if (!command.ok()) {
    ports_.console.complain(command.error().message);
    return ExitOutcome{.code = to_status(ExitCode::kCannotSupervise)};
  }
  command_.emplace(*std::move(command));
  return std::nullopt;
}

// What was typed has reached the process that stands ready, which forgets it.
std::optional<int> Runner::told_to_end() const {
  sigset_t pending;
  if (::sigpending(&pending) != 0) return std::nullopt;
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) {
    if (::sigismember(&pending, signal) == 1) return signal;
  }
  return std::nullopt;
}

std::optional<ExitOutcome> Runner::run(const wire::LeaseAnswer& lease,
                                       const VariableChanges& variables, Lease whose) {
  if (const std::optional<int> signal = told_to_end()) {
    ports_.console.say("interrupted");
    const ExitOutcome left{.code = 128 + *signal, .signal = *signal};
    if (whose == Lease::kOwn) give_back(lease, left.code);
    return left;
  }
  const Process command = process();
  // Asked now: while it waited, the shell may have put us into the background.
  terminal_ = JobTerminal::find();
  if (terminal_) {
    checked(command_).lead_own_group();
    terminal_->give_to(command.pid);
  }
  if (const int number = checked(command_).let_go(variables); number != 0) {
    if (terminal_) terminal_->take_from(command.pid);
    return not_started(lease, number, whose);
  }
  ports_.status.running(lease.view.id, command);

  started_ = os::PosixClock().now();
  const auto supervisor = [&](Observer& observer) {
    return Supervisor(command, ports_.signals, terminal_ ? &*terminal_ : nullptr, observer);
  };
  if (whose == Lease::kJoined) {
    Nobody nobody;
    return ended(lease, {supervisor(nobody).run()}, whose);
  }
  std::optional<Saver> saver = saver_for(lease, variables);
  std::optional<Stopper> stopper;
  if (const auto grace = lease.view.request.requeue_grace) stopper.emplace(*grace);
  LeaseWatch watch(ports_.client, lease.view, ports_.console,
                   {.saver = saver ? &*saver : nullptr, .stopper = stopper ? &*stopper : nullptr});
  Supervisor supervised = supervisor(watch);
  const ExitStatus exit = supervised.run();
  if (saver) {
    saver->command_ended(exit);
    tell_save(lease, *saver);
  }
  revoked_ = watch.revoked();
  detached_ = watch.detached();
  if (!watch.stops_all() || revoked_) {
    const bool by_hand = supervised.was_told_to_end() || (terminal_ && is_typed(exit));
    const EndKind kind = !by_hand                   ? EndKind::kPlain
                         : ends_with_machine(lease) ? EndKind::kShutdown
                                                    : EndKind::kFinal;
    return ended(lease, {exit, kind}, whose);
  }
  command_.reset();
  const std::optional<int> signal = supervised.told_to_end();
  if (!signal) return std::nullopt;
  ports_.console.say("left the queue");  // The daemon sees that we have gone.
  return ExitOutcome{.code = 128 + *signal, .signal = *signal};
}

// Log-out ends it by the same signal, and for good.
bool Runner::ends_with_machine(const wire::LeaseAnswer& lease) const {
  const bool may_come_again = lease.view.job && lease.view.request.requeue_grace && !revoked_;
  if (!may_come_again || !is_machine_stopping()) return false;
  ports_.console.say("the machine is shut down: lease " + to_text(lease.view.id) +
                     " waits again, and is started again after the next start");
  return true;
}

// Absent: it has failed, and is started again. A job is by its keeper, in another process.
std::optional<ExitOutcome> Runner::ended(const wire::LeaseAnswer& lease, const CommandEnd& end,
                                         Lease whose) {
  const ExitStatus& exit = end.exit;
  std::optional<EndResult> result = revoked_;
  if (whose == Lease::kOwn) {
    // The daemon removes it with the lease.
    const enforce::LeaseFiles files({.root = os::leases_directory(ports_.client.socket())});
    const Result<enforce::Use> use = files.read(lease.view.handle);
    const bool ran_out = end.kind == EndKind::kPlain && use.ok() && was_refused(*use);
    const std::optional<LeaseView> after =
        report(lease, {exit, ran_out ? EndKind::kOutOfMemory : end.kind});
    if (after && after->result) result = after->result;
    // The news may come later than the end of the command that it told to end.
    if (after && !revoked_ && was_revoked(result))
      ports_.console.say(revoked_text(*after, ports_.console.context()));
    if (after && result == EndResult::kDetached && !detached_) {
      ports_.console.say(detached_text(*after, ports_.console.context()));
    }
    const std::string leftovers = after ? leftovers_text(*after) : "";
    if (!leftovers.empty()) ports_.console.say(leftovers);
    // A daemon that was away when it was told first may have begun it meanwhile.
    const bool has_begun = after && after->restarts > lease.view.restarts;
    const bool comes_again = after && (has_begun || next_attempt_of(*after));
    tell_peak(comes_again ? lease.view : after.value_or(lease.view), use);
    tell_leak(lease.view);
    if (comes_again) {
      ports_.console.say(retry_text(lease.view, *after, exit, ports_.console.context()));
      if (!after->job) {
        command_.reset();
        return std::nullopt;
      }
    }
  }
  if (result == EndResult::kLimit) return ExitOutcome{.code = to_status(ExitCode::kTimeLimit)};
  ports_.status.command_ended(exit);
  return ExitOutcome{.code = exit.code, .signal = exit.signal};
}

std::optional<Saver> Runner::saver_for(const wire::LeaseAnswer& lease,
                                       const VariableChanges& variables) const {
  if (!saves_.way || !lease.view.request.checkpoint) return std::nullopt;
  if (std::holds_alternative<LibraryWay>(*saves_.way)) return std::nullopt;
  return Saver({.way = *saves_.way,
                .command = process(),
                .variables = variables,
                .mask = ports_.signals.mask_before()},
               lease.view.request.checkpoint->grace);
}

// Before the end of the command, with which the lease may end.
void Runner::tell_save(const wire::LeaseAnswer& lease, const Saver& saver) {
  const std::optional<CheckpointedBody>& report = saver.report();
  if (!report) return;
  static_cast<void>(ask_apart(
      {.route = wire::Route::kCheckpointed, .lease = to_text(lease.view.handle), .body = *report}));
}

// As its programs have charged it, to the byte; the daemon may not have looked in time.
void Runner::tell_peak(LeaseView lease, const Result<enforce::Use>& use) {
  if (!use.ok() || use->parts.size() != lease.parts.size()) return;
  for (std::size_t i = 0; i < lease.parts.size(); ++i) {
    LeasePart& part = lease.parts[i];
    part.peak = std::max(part.peak.value_or(Bytes{}), use->parts[i].peak);
    part.refused = use->parts[i].refused;
  }
  Refusals refusals{.last = refused_in(*use, lease, started_)};
  if (was_refused(*use)) refusals.largest = largest_budget_for(lease);
  const std::string text = peak_text(lease, refusals);
  if (!text.empty()) ports_.console.say(text);
}

// Absent where the daemon does not tell: it may have gone meanwhile.
std::optional<Bytes> Runner::largest_budget_for(const LeaseView& lease) {
  const auto devices =
      client::told(ask_apart({.route = wire::Route::kDevices}), wire::decode_devices);
  return devices ? largest_budget(lease.parts, devices->list.items) : std::nullopt;
}

// By the daemon's figures of the past: where it keeps none, nothing is said.
void Runner::tell_leak(const LeaseView& lease) {
  const Duration held = os::PosixClock().now() - started_;
  if (held < kLeakWorthAsking) return;
  Result<client::Connection> connection = ports_.client.another();
  if (!connection.ok()) return;
  const std::string target = wire::target_of(wire::Route::kHistory) +
                             "?of=lease&lease=" + to_text(lease.handle) +
                             "&since=" + std::to_string(held.ns / seconds(1).ns + 1) + "s";
  const auto past = client::told(connection->get(target, kReportWithin), wire::decode_past);
  if (!past) return;
  for (const history::Series& series : past->past.series) {
    if (series.subject.figure != history::Figure::kUsed) continue;
    if (const std::optional<Leak> leak = leak_in(series.buckets)) {
      ports_.console.say(leak_text(*leak));
      return;
    }
  }
}

ExitOutcome Runner::not_started(const wire::LeaseAnswer& lease, int number, Lease whose) {
  const ExitOutcome left = cannot_start(words_.front(), number, ports_.console);
  if (whose == Lease::kOwn) give_back(lease, left.code);
  return left;
}

void Runner::give_back(const wire::LeaseAnswer& lease, int code) {
  static_cast<void>(report(lease, {{.code = code, .signal = 0}, EndKind::kFinal}));
}

// In a connection of its own: the other one listens, or was lost with the daemon.
Result<client::Answer> Runner::ask_apart(const client::HttpRequest& question) {
  TRY(connection, ports_.client.another());
  return connection.ask(question, kReportWithin);
}

// A daemon that is not there now is on its way back, after an upgrade or a kill. To the next one
// the process is gone, and how it ended only we can say. Nobody waits at a terminal for what a job
// says.
std::optional<LeaseView> Runner::report(const wire::LeaseAnswer& lease, const CommandEnd& end) {
  const ExitBody body{.exit = end.exit,
                      .leftovers = Supervisor::leftovers(),
                      .restarts = lease.view.restarts,
                      .kind = end.kind};
  const client::HttpRequest question{
      .route = wire::Route::kExit, .lease = to_text(lease.view.handle), .body = body};
  const os::PosixClock clock;
  // Who was told to end does: where the machine stops, no daemon comes back, and all wait for us.
  const bool is_told = end.kind == EndKind::kFinal || end.kind == EndKind::kShutdown;
  const bool is_patient = lease.view.job && !is_told;
  const Instant until = clock.now() + (is_patient ? kJobReportWithin : kReportWithin);
  while (true) {
    const Result<client::Answer> answer = ask_apart(question);
    const bool nobody_is_there = !answer.ok() && (answer.error().code == Errc::kUnavailable ||
                                                  answer.error().code == Errc::kNotFound);
    if (!nobody_is_there || clock.now() >= until || told_to_end()) {
      const auto after = client::told(answer, wire::decode_lease);
      return after ? std::optional(after->view) : std::nullopt;
    }
    ::poll(nullptr, 0, kReportEveryMs);
  }
}

}  // namespace berth::cli
