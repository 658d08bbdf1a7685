// SPDX-License-Identifier: Apache-2.0
// `berth run`: a command under a lease. This file is its options; what it does is in run/.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/number.h"
#include "cli/exit_status.h"
#include "cli/run/options.h"
#include "cli/run/run_options.h"
#include "cli/run/runner.h"
#include "cli/run/session.h"
#include "cli/run/set_lines.h"
#include "cli/settings.h"
#include "cli/supervise/death.h"
#include "cli/verbs.h"
#include "jobs/named_log.h"
#include "os/child.h"

namespace berth::cli {
namespace {

// BERTH_DISABLE=1: as if we were not there.
int just_become(std::vector<std::string> words, Console& console) {
  const std::vector<char*> arguments = os::pointers_to(words);
  ::execvp(arguments[0], arguments.data());
  return cannot_start(words[0], errno, console).code;
}

bool is_disabled() {
  const char* value = std::getenv("BERTH_DISABLE");
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

// HANDLE:RESTARTS of a job, of which a keeper starts an attempt: in a variable, since others can
// read command lines. The command does not inherit it.
std::optional<Adopted> take_adopted() {
  const char* value = std::getenv("BERTH_ADOPT");
  if (value == nullptr) return std::nullopt;
  const std::string text = value;
  ::unsetenv("BERTH_ADOPT");
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const std::optional<Handle> handle = parse_handle(text.substr(0, colon));
  const auto restarts = parse_number<std::uint32_t>(text.substr(colon + 1));
  return handle && restarts ? std::optional(Adopted{*handle, *restarts}) : std::nullopt;
}

// Absolute, and there: the place of a job is checked while its user is there to be told.
Result<std::string> directory_of(const std::optional<std::string>& wanted) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(wanted.value_or("."), error);
  if (!error && std::filesystem::is_directory(path, error)) {
    return path.lexically_normal().string();
  }
  return Error{Errc::kInvalid, "--cwd: '" + wanted.value_or(".") + "' is no directory"};
}

// Likewise.
Status check_log(const RunOptions& run, const std::string& directory) {
  if (!run.log) return Unit{};
  const std::string& log = *run.log;
  const bool is_set = run.each || !run.grid.empty() || run.failed_of;
  TRY_STATUS(jobs::check_log_name(log, is_set ? jobs::Naming::kSet : jobs::Naming::kOneJob));
  return jobs::check_log_place(log, directory);
}

}  // namespace

int run_with(Invocation& invocation, RunOptions run) {
  run.session.adopted = take_adopted();
  if (run.detach && !run.session.adopted) {
    if (run.status_descriptor) return invocation.usage_error("--status-fd: a job has none");
    Result<std::string> directory = directory_of(run.directory);
    if (!directory.ok()) return invocation.usage_error(directory.error().message);
    const Status log = check_log(run, *directory);
    if (!log.ok()) return invocation.usage_error(log.error().message);
    Result<SetLines> set = set_lines_of(run);
    if (!set.ok()) return invocation.usage_error(set.error().message);
    if (set->resumes && set->lines.empty()) {
      Console(invocation.terminal, Console::Volume::kNormal)
          .say(std::string(run.failed_of ? "none has failed" : "all of them have ended well") +
               " in set " + to_text(checked(set->resumes)) + ": nothing is submitted");
      return to_status(ExitCode::kOk);
    }
    run.session.submission = Submission{.arguments = invocation.arguments,
                                        .environment = run.environment,
                                        .directory = *std::move(directory),
                                        .log = run.log.value_or(""),
                                        .lines = std::move(set->lines),
                                        .running_max = run.running_max.value_or(0),
                                        .resumes = set->resumes,
                                        .seed = set->seed};
  }
  const bool is_job = run.detach || run.session.adopted;
  if (run.session.lease && (is_job || run.session.new_lease)) {
    return invocation.usage_error(is_job ? "--lease: a job has a lease of its own (berth run)"
                                         : "--lease, or --new-lease: not both");
  }
  if (!is_job && (run.each || !run.grid.empty() || run.running_max)) {
    return invocation.usage_error("--each, --grid and --max-running are for jobs: berth submit");
  }
  if (!is_job && run.log) {
    return invocation.usage_error(
        "--log is for jobs (berth submit): without -d the output is this terminal's, and > FILE "
        "is what sends it elsewhere");
  }
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
  name_session(run.session.request);

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

int run_run(Invocation& invocation) {
  RunOptions run;
  invocation.about =
      "Asks for GPU memory, waits for its turn, and runs the command with it. What it takes is "
      "given back when it ends, however it ends. The command keeps stdin, stdout, the terminal and "
      "its exit status; what berth says is on stderr.";
  invocation.examples = {
      {"berth run -m 8G -- python train.py", "8 GiB of any GPU, beside others"},
      {"berth run -x -g 2 -- ./train.sh", "two GPUs of one model, for itself"},
      {"berth run -m 4G --wait=10m --limit 2h -- make bench", "not for longer than that"},
      {"berth run --lease 12 -- python eval.py", "in a lease that is there, from any shell"}};
  declare_run(invocation, run);
  if (const auto end = invocation.parse()) return *end;

  return run_with(invocation, std::move(run));
}

}  // namespace berth::cli
