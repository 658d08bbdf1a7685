// SPDX-License-Identifier: Apache-2.0
// `berth run`: a command under a lease. This file is its options; what it does is in run/.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "cli/exit_status.h"
#include "cli/run/options.h"
#include "cli/run/runner.h"
#include "cli/run/session.h"
#include "cli/settings.h"
#include "cli/supervise/death.h"
#include "cli/verbs.h"

namespace berth::cli {
namespace {

constexpr Duration kOnFullWait = seconds(30);  // Unless it is said.

struct RunOptions {
  SessionOptions session;
  std::optional<std::uint32_t> status_descriptor;
  bool quiet = false;
};

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

void declare(Invocation& invocation, RunOptions& run) {
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
  declare_saves(options, session.saves);
  options.add("--new-lease", store(session.new_lease), "inside a lease: ask for one more");
  options.add("--notify", store(session.notify), "send a terminal notification when it is granted");
  options.add("--status-fd=N", store(run.status_descriptor),
              "write what happens as lines of JSON to this descriptor");
  options.add("--dry-run", store(session.dry_run), "say whether it would start now; start nothing");
  options.add("-q,--quiet", store(run.quiet), "print only errors and what no budget holds");
  declare_later_options(options);
  options.command("COMMAND", session.command, "what to run");
}

// BERTH_DISABLE=1: as if we were not there.
int just_become(std::vector<std::string> words, Console& console) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  return cannot_start(words[0], errno, console).code;
}

bool is_disabled() {
  const char* value = std::getenv("BERTH_DISABLE");
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

}  // namespace

int run_run(Invocation& invocation) {
  RunOptions run;
  invocation.about =
      "Asks for GPU memory, waits for its turn, and runs the command with it. What it takes is "
      "given back when it ends, however it ends. The command keeps stdin, stdout, the terminal and "
      "its exit status; what berth says is on stderr.";
  invocation.examples = {
      {"berth run -m 8G -- python train.py", "8 GiB of any GPU, beside others"},
      {"berth run -x -g 2 -- ./train.sh", "two GPUs of one model, for itself"},
      {"berth run -m 4G --wait=10m --limit 2h -- make bench", "not for longer than that"}};
  declare(invocation, run);
  if (const auto end = invocation.parse()) return *end;

  const Console::Volume volume = run.quiet ? Console::Volume::kQuiet : Console::Volume::kNormal;
  Console console(invocation.terminal, volume);
  if (is_disabled()) return just_become(run.session.command, console);
  StatusDescriptor status;
  if (run.status_descriptor) {
    Result<StatusDescriptor> opened =
        StatusDescriptor::open(static_cast<int>(*run.status_descriptor));
    if (!opened.ok()) return invocation.usage_error(opened.error().message);
    status = *opened;
  }
  const auto config = request_settings_of(invocation);
  if (!config) return to_status(ExitCode::kConfig);
  if (!run.session.request.session) {
    if (const char* session = std::getenv("BERTH_SESSION")) run.session.request.session = session;
  }

  const bool may_start = invocation.common.autostart && client::autostart_allowed_by_environment();
  const ExitOutcome left = run_session(
      run.session, *config,
      {.client = {.env = os::read_environment(),
                  .autostart = may_start ? client::Autostart::kIfNeeded : client::Autostart::kNever,
                  .version = BERTH_VERSION,
                  .say = [&console](std::string_view sentence) { console.say(sentence); }},
       .console = console,
       .status = status});
  if (left.signal != 0) die_of(left.signal);
  return left.code;
}

}  // namespace berth::cli
