// SPDX-License-Identifier: Apache-2.0
#include "server/background.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "os/errors.h"
#include "os/paths.h"
#include "os/unique_fd.h"

namespace berth::server {

Result<int> go_to_background() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return os::system_error("cannot make a pipe", errno);
  const pid_t child = ::fork();
  if (child < 0) return os::system_error("cannot go to the background", errno);
  if (child > 0) {
    ::close(ends[1]);
    char ready = 0;
    if (::read(ends[0], &ready, 1) == 1) ::_exit(0);
    int status = 0;
    (void)::waitpid(child, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  ::close(ends[0]);
  ::setsid();
  ::umask(077);
  if (::chdir("/") != 0) return os::system_error("cannot enter /", errno);
  return ends[1];
}

Status look_at_container(bool allowed, Log& log) {
  if (!os::in_container()) return Unit{};
  if (!allowed) {
    return Error{Errc::kUnavailable,
                 "this is a container, and daemon.in_container is false: mount the host's "
                 "/run/berth, or start berthd --in-container"};
  }
  log.warn(
      "this is a container: processes and leases outside it are not seen, only the memory that "
      "they use");
  return Unit{};
}

void leave_terminal(const std::string& log_path) {
  const os::UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const os::UniqueFd log(
      ::open(log_path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (nothing) {
    (void)::dup2(nothing.get(), STDIN_FILENO);
    (void)::dup2(nothing.get(), STDOUT_FILENO);
  }
  const os::UniqueFd& errors = log ? log : nothing;
  if (errors) (void)::dup2(errors.get(), STDERR_FILENO);
}

}  // namespace berth::server
