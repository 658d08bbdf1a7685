// SPDX-License-Identifier: Apache-2.0
#include "cli/keeper.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "client/autostart.h"
#include "client/background.h"
#include "os/errors.h"
#include "os/unique_fd.h"

namespace berth::cli {

Status wake_keeper(const jobs::JobFolder& folder) {
  if (folder.wake()) return Unit{};
  TRY(program, client::sibling_program("berth-keeper"));
  const std::string path = folder.path() + "/keeper.log";
  const os::UniqueFd log(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!log) return os::system_error("cannot open " + path, errno);
  const os::UniqueFd nothing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  std::vector<std::string> variables = client::daemon_environment(client::own_environment());
  if (const char* socket = std::getenv("BERTH_SOCKET")) {
    variables.push_back(std::string("BERTH_SOCKET=") + socket);
  }
  return client::start_in_background({.program = program,
                                      .arguments = {"berth-keeper"},
                                      .environment = std::move(variables),
                                      .log = log.get(),
                                      .ready = nothing.get()});
}

void wake_keeper_for_jobs(const os::Environment& env) {
  const Result<jobs::JobFolder> folder = jobs::JobFolder::find(env);
  if (!folder.ok() || folder->is_kept()) return;
  const std::vector<LeaseId> all = folder->list();
  const bool is_left =
      std::ranges::any_of(all, [&](LeaseId id) { return !folder->result(id).has_value(); });
  if (is_left) static_cast<void>(wake_keeper(*folder));
}

}  // namespace berth::cli
