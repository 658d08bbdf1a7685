// SPDX-License-Identifier: Apache-2.0
#include "cli/run/submission.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "cli/keeper.h"
#include "cli/run/environment.h"
#include "client/autostart.h"
#include "client/background.h"
#include "client/keeping.h"
#include "jobs/job_folder.h"
#include "os/clock.h"
#include "wire/request.h"

namespace berth::cli {
namespace {

constexpr Duration kAnswerWithin = seconds(30);

constexpr std::array kClean = {
    "HOME", "USER",         "LOGNAME",           "SHELL",        "PATH",         "LANG",
    "TZ",   "BERTH_CONFIG", "BERTH_RUNTIME_DIR", "BERTH_SOCKET", "BERTH_SESSION"};
constexpr std::array kCleanPrefixes = {"LC_", "XDG_", "BERTH_SIM"};

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

bool is_one_of(std::string_view name, const auto& names) {
  return std::ranges::any_of(names, [&](const char* one) { return name == one; });
}

bool is_clean(std::string_view name) {
  return is_one_of(name, kClean) || std::ranges::any_of(kCleanPrefixes, [&](const char* prefix) {
           return name.starts_with(prefix);
         });
}

mode_t own_umask() {
  const mode_t mask = ::umask(077);
  ::umask(mask);
  return mask;
}

}  // namespace

std::vector<std::string> environment_for_job(const std::vector<std::string>& all,
                                             EnvironmentMode mode) {
  const bool is_inside = std::ranges::any_of(
      all, [](const std::string& variable) { return variable.starts_with("BERTH_LEASE_ID="); });
  std::vector<std::string> kept;
  for (const std::string& variable : all) {
    const std::string_view name = name_of(variable);
    if ((is_inside && is_of_lease(variable)) || name == "BERTH_DISABLE") continue;
    if (mode == EnvironmentMode::kSame || is_clean(name)) kept.push_back(variable);
  }
  return kept;
}

Status submit(client::Client& client, const os::Environment& env, const LeaseView& queued,
              const Submission& submission) {
  TRY_STATUS(client::sibling_program("berth-keeper"));  // Before it is the daemon's.
  TRY(folder, jobs::JobFolder::find(env));
  const jobs::Job job{.id = queued.id,
                      .handle = queued.handle,
                      .directory = submission.directory,
                      .umask = own_umask(),
                      .submitted = os::PosixClock().wall(),
                      .members = static_cast<std::uint32_t>(submission.lines.size()),
                      .running_max = submission.running_max,
                      .resumes = submission.resumes,
                      .seed = submission.seed,
                      .log = submission.log};
  TRY_STATUS(folder.add(
      job, {.arguments = submission.arguments,
            .environment = environment_for_job(client::own_environment(), submission.environment),
            .lines = submission.lines,
            .request = wire::encode(submission.request)}));
  const Result<LeaseView> kept = client::keep_request(client, queued, kAnswerWithin);
  if (!kept.ok()) return kept.error();
  return wake_keeper(folder);
}

Status sync_submission(const client::Client& client, const os::Environment& env, LeaseId id) {
  TRY(connection, client.another());
  TRY_STATUS(connection.begin({.route = wire::Route::kDaemonSync}));
  TRY(folder, jobs::JobFolder::find(env));
  TRY_STATUS(folder.sync(id));
  TRY(answer, connection.finish(kAnswerWithin));
  if (!answer.ok()) return Error{Errc::kUnavailable, wire::decode_error(answer.body).message};
  return Unit{};
}

}  // namespace berth::cli
