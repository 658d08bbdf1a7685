// SPDX-License-Identifier: Apache-2.0
#include "cli/run/run_options.h"

#include "cli/run/options.h"

namespace berth::cli {
namespace {

constexpr Duration kOnFullWait = seconds(30);  // Unless it is said.

// fail, wait or wait=30s. What fails waits for no time.
Setter into_on_full(std::optional<Duration>& wait_max) {
  return [&wait_max](std::string_view value) -> Status {
    constexpr std::string_view kWait = "wait";
    constexpr std::string_view kWaitFor = "wait=";
    if (value == "fail") {
      wait_max = Duration{};
    } else if (value == kWait) {
      wait_max = kOnFullWait;
    } else if (value.starts_with(kWaitFor)) {
      return store_positive(wait_max)(value.substr(kWaitFor.size()));
    } else {
      return Error{Errc::kInvalid,
                   "'" + std::string(value) + "' is not fail, wait or wait=DURATION"};
    }
    return Unit{};
  };
}

Setter into_save_way(std::optional<SaveWay>& way) {
  return [&way](std::string_view text) -> Status {
    TRY(parsed, parse_save_way(text));
    way = std::move(parsed);
    return Unit{};
  };
}

void declare_saves(Options& options, SaveOptions& saves) {
  options.add("--checkpoint=HOW", into_save_way(saves.way),
              "how it can be asked to save itself: signal:USR1, "
              "signal:USR1,file=GLOB, cmd:'COMMAND', http://HOST:PORT/PATH, library");
  options.add("--checkpoint-every=DURATION", store_positive(saves.every), "ask it that often, too");
  options.add("--grace=DURATION", store_positive(saves.grace),
              "how long a save may take, and a stop with --requeue; 60 s is the default");
  options.add("--requeue", store(saves.requeue),
              "it may be stopped, to wait in the queue and be started again");
}

Status refuse_later(std::string_view) {
  return Error{Errc::kInvalid, "not in this version"};
}

// Known names, so that a script written for a later version is told what is the matter.
void declare_later_options(Options& options) {
  for (const std::string_view form : {"--peak=VALUE", "--on-pressure=VALUE", "--cap-hint=VALUE"}) {
    options.add(form, refuse_later, "");
  }
  options.add(
      "--container",
      [](std::string_view) -> Status {
        return Error{Errc::kInvalid, "--container: not in this version"};
      },
      "");
}

void declare_job(Options& options, RunOptions& run) {
  options.add("-d,--detach", store(run.detach),
              "as a job: it outlives this terminal, and its number is printed at once");
  options.add("--env-mode=MODE", store(run.environment),
              "of a job: the variables of now, or few of them", texts_of<EnvironmentMode>());
  options.add("--cwd=DIR", store(run.directory), "of a job: where it is started");
  options.add("--log=PATH", store(run.log),
              "of a job: the file that its output is appended to; %j in its name stands for the "
              "job's number, %a for the attempt's");
  options.add(
      "--each=FILE", store(run.each),
      "a job for each line of it (- is stdin): {item} stands for the line, {NAME} for a value "
      "where it is a JSON object");
  options.add("--grid=NAME=A,B...", store(run.grid),
              "a job for each combination of the values; may be repeated: {NAME} stands for one");
  options.add("--resume=SET", store(run.resume),
              "of --each and --grid: without those that have ended well in that set");
  options.add("--seed=N", store(run.seed),
              "of --each and --grid: each job finds one in BERTH_SEED, made of N and its values");
  options.add("--max-running=N", store(run.running_max),
              "of --each and --grid: no more at a time; else as many as there is room for");
}

}  // namespace

void declare_run(Invocation& invocation, RunOptions& run) {
  Options& options = invocation.options;
  SessionOptions& session = run.session;
  declare_room(options, session.request);
  declare_turn(options, session.request);
  declare_start(options, session.request);
  options.add("--eta=DURATION", store_positive(session.request.eta),
              "how long it will take, as far as you know; others plan with it");
  options.add("--limit=DURATION", store_positive(session.request.limit),
              "how long it may take: then it is ended, with 124");
  declare_names(options, session.request);
  declare_carried(options, session.request.carried, Carried::kWithACommand);
  options.add("--enforce=HOW", store(session.enforce),
              "how it is held to its memory; none: it is trusted", texts_of<config::Enforce>());
  options.add("--over-budget=WHAT", store(session.over_budget),
              "action when measured use exceeds the budget; suspend: as "
              "pressure.over_budget says",
              texts_of<OverBudget>());
  options.add("--guard-mode=HOW", store(session.guard_mode),
              "how the guard is loaded; audit: also past RTLD_DEEPBIND and dlmopen",
              texts_of<GuardMode>());
  options.add("--on-full=HOW", into_on_full(session.on_full),
              "what to do with an allocation that does not fit the budget: fail, or "
              "wait for room, at most 30 s: wait=5m says otherwise");
  options.add("--on-oom=HOW", store(session.request.on_oom),
              "if it fails after its budget refused it memory; grow, the default with -m auto: "
              "start it again once, with more",
              texts_of<OnOom>());
  declare_saves(options, session.saves);
  declare_messages(options, session.request.carried);
  options.add("--lease=LEASE", store(session.lease),
              "in a lease of yours that has been granted, instead of one of its own");
  options.add("--new-lease", store(session.new_lease), "inside a lease: ask for one more");
  declare_job(options, run);
  options.add("--notify", store(session.notify), "send a terminal notification when it is granted");
  options.add("--status-fd=N", store(run.status_descriptor),
              "write what happens as lines of JSON to this descriptor");
  options.add("--dry-run", store(session.dry_run), "say whether it would start now; start nothing");
  options.add("-q,--quiet", store(run.quiet), "print only errors and what no budget holds");
  declare_later_options(options);
  options.command("COMMAND", session.command, "what to run");
}

}  // namespace berth::cli
