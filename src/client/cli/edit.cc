// SPDX-License-Identifier: Apache-2.0
// `berth edit`: a request that waits asks for something else, and its job runs another command.
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/control.h"
#include "cli/render/phrases.h"
#include "cli/run/options.h"
#include "cli/run/request.h"
#include "cli/run/run_options.h"
#include "cli/verbs.h"
#include "jobs/job_folder.h"
#include "os/paths.h"
#include "os/program_file.h"

namespace berth::cli {
namespace {

// All before the command, without the `--` that may stand between them.
Result<std::vector<std::string>> options_in(std::vector<std::string> words) {
  Invocation submitted{.verb = *find_verb("submit"), .arguments = {}, .common = {}};
  RunOptions run;
  declare_run(submitted, run);
  TRY_STATUS(submitted.options.parse(words));
  words.resize(words.size() - std::min(words.size(), run.session.command.size()));
  if (!words.empty() && words.back() == "--") words.pop_back();
  return words;
}

Status look_for(const std::string& program, const std::string& directory) {
  TRY(path, os::find_program(program));
  const bool is_below = path.find('/') != std::string::npos && path.front() != '/';
  const std::string place = is_below ? directory + "/" + path : path;
  if (::access(place.c_str(), X_OK) == 0) return Unit{};
  return Error{Errc::kNotFound, "there is no program '" + program + "' in " + directory};
}

/// The words with which one job is started, changed before the daemon is asked: the next attempt
/// reads them, and there is none before the daemon has agreed or refused.
class JobWords {
 public:
  explicit JobWords(std::vector<std::string> command) : command_(std::move(command)) {}

  Status change(const LeaseView& lease);
  /// As they were: the request could not be changed.
  void restore() const {
    if (folder_) static_cast<void>(folder_->replace_arguments(id_, before_));
  }

 private:
  std::vector<std::string> command_;
  std::optional<jobs::JobFolder> folder_;
  LeaseId id_;
  std::vector<std::string> before_;
};

Status JobWords::change(const LeaseView& lease) {
  if (lease.request.member) {
    return wrong("it is a member of set " + to_text(lease.request.member->set) +
                 ", whose command is that of all");
  }
  TRY(folder, jobs::JobFolder::find(os::read_environment()));
  const Result<jobs::Job> job = folder.read(lease.id);
  if (!lease.job || !job.ok()) {
    return wrong("it is no job of yours, and only a job's command can be changed");
  }
  const std::uint32_t begun = folder.attempts(lease.id);
  if (begun > 0 && !folder.has_ended(lease.id, begun)) {
    return wrong("its berth run is there, and starts the same command again");
  }
  TRY_STATUS(look_for(command_.front(), job->directory));
  TRY(before, folder.arguments(lease.id));
  TRY(words, options_in(before));
  words.emplace_back("--");
  words.insert(words.end(), command_.begin(), command_.end());
  TRY_STATUS(folder.replace_arguments(lease.id, words));
  folder_ = folder;
  id_ = lease.id;
  before_ = std::move(before);
  return Unit{};
}

}  // namespace

int run_edit(Invocation& invocation) {
  Control control(invocation);
  RequestEdit edit;
  bool exclusive = false;
  std::vector<std::string> command;
  invocation.about =
      "Changes what a request asks for while it waits. What is not named stays as it is, and so do "
      "its number and its age in the queue. After -- comes another command, of a job that has not "
      "begun. What has been granted is changed by berth resize, and renew.";
  invocation.examples = {{"berth edit 12 -m 6G -p high", "less memory, and sooner"},
                         {"berth edit 12 --at 18:30", "not before this evening"},
                         {"berth edit 12 -- python train.py --lr 3e-4", "another command"}};
  Options& options = invocation.options;
  options.add("-m,--vram=SIZE", store(edit.vram), "memory on each GPU: 8G, 512M");
  options.add("-x,--exclusive", store(exclusive), "a whole GPU, with no other lease on it");
  options.add("-p,--priority=PRIORITY", store(edit.priority), "before or after others of yours",
              texts_of<Priority>());
  options.add("-n,--name=NAME", store(edit.name), "a name to find it by");
  options.add("--at=TIME", into_start(edit.not_before),
              "do not start before: 18:30, 2026-02-07T18:30, 90m from now, or now");
  options.add("--eta=DURATION", store_positive(edit.eta),
              "how long it will take, as far as you know");
  options.add("--limit=DURATION", store_positive(edit.limit),
              "how long it may take: then it is ended, with 124");
  control.declare();
  options.command("[COMMAND]", command, "what to run instead");
  if (const auto end = invocation.parse()) return *end;
  if (exclusive && edit.vram) {
    return invocation.usage_error(
        "a whole GPU comes with all of its memory: leave out -m, "
        "or -x");
  }
  if (exclusive) edit.share = Share::kExclusive;
  if (!command.empty()) edit.command = command_text(command);
  if (edit == RequestEdit{}) return invocation.usage_error("say what is to be changed");
  return control.each([&](const LeaseView& lease, const RenderContext& context) {
    Control::Operation operation{
        .dry_run_text = "edit " + named(lease, context),
        .question = {.route = wire::Route::kEdit, .body = edit},
        .success_text =
            [](const LeaseView& now, const RenderContext&) {
              return now.state == LeaseState::kWaiting
                         ? "asks for " + asked_by(now.request) + " now"
                         : "is granted: it was its turn";
            },
    };
    if (command.empty()) return operation;
    const auto words = std::make_shared<JobWords>(command);
    operation.prepare = [words](const LeaseView& whose) { return words->change(whose); };
    operation.undo = [words] { words->restore(); };
    return operation;
  });
}

}  // namespace berth::cli
