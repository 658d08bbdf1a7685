// SPDX-License-Identifier: Apache-2.0
#include "server/background.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "os/errors.h"
#include "os/files.h"
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

Status refuse_container() {
  const char* set = std::getenv("container");
  const bool inside = os::exists("/.dockerenv") || os::exists("/run/.containerenv") ||
                      (set != nullptr && *set != '\0');
  if (!inside) return Unit{};
  return Error{Errc::kUnavailable,
               "this is a container, and a daemon in it could not see who else uses the GPUs: "
               "mount the host's socket and set BERTH_SOCKET, or start berthd --in-container"};
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
