// SPDX-License-Identifier: Apache-2.0
#include "client/background.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "os/child.h"
#include "os/errors.h"

namespace berth::client {
namespace {

// Everything below runs between fork and exec: system calls only.

void last_words(std::string_view what) {
  if (::write(STDERR_FILENO, what.data(), what.size()) < 0) return;
}

struct Start {
  const char* program;
  char* const* arguments;
  char* const* environment;
  int log;
  int ready;
};

// Descriptors 0, 1, 2 and 3 are all that the program gets. They are moved out of the way first,
// because any of them may be one of these numbers already.
bool arrange_descriptors(const Start& start) {
  const int nothing = ::open("/dev/null", O_RDWR);
  const int from_nothing = ::fcntl(nothing, F_DUPFD, 10);
  const int to_log = ::fcntl(start.log, F_DUPFD, 10);
  const int ready = ::fcntl(start.ready, F_DUPFD, 10);
  if (::dup2(from_nothing, 0) < 0 || ::dup2(to_log, 1) < 0 || ::dup2(to_log, 2) < 0) return false;
  return ::dup2(ready, 3) == 3 && ::close_range(4, ~0U, 0) == 0;
}

[[noreturn]] void become(const Start& start) {
  os::reset_signals();
  ::umask(077);
  if (!arrange_descriptors(start) || ::chdir("/") != 0) ::_exit(1);
  ::execve(start.program, start.arguments, start.environment);
  last_words("cannot execute ");
  last_words(start.program);
  last_words(": ");
  last_words(::strerrordesc_np(errno));
  last_words("\n");
  ::_exit(1);
}

}  // namespace

std::vector<std::string> own_environment() {
  std::vector<std::string> all;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) all.emplace_back(*at);
  return all;
}

Status start_in_background(BackgroundStart wanted) {
  const std::string name = wanted.arguments.front();
  const std::vector<char*> arguments = os::pointers_to(wanted.arguments);
  const std::vector<char*> environment = os::pointers_to(wanted.environment);
  const Start start{.program = wanted.program.c_str(),
                    .arguments = arguments.data(),
                    .environment = environment.data(),
                    .log = wanted.log,
                    .ready = wanted.ready};
  const pid_t first = ::fork();
  if (first < 0) return os::system_error("cannot start " + name, errno);
  if (first == 0) {
    ::setsid();
    const pid_t second = ::fork();
    if (second == 0) become(start);
    ::_exit(second < 0 ? 1 : 0);
  }
  int status = 0;
  while (::waitpid(first, &status, 0) < 0 && errno == EINTR) {
  }
  if (status == 0) return Unit{};
  return Error{Errc::kUnavailable, "cannot start " + name + ": no further process can be made"};
}

}  // namespace berth::client
