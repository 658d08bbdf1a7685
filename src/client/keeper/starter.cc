// SPDX-License-Identifier: Apache-2.0
// Note [Who starts a job]: the keeper writes N.status before it forks, locked; the starter inherits
// the lock and keeps it for life, also beyond the keeper. So whether it lives is asked of the
// kernel, whatever its pid is by now, and an attempt that was begun is never taken for none. That
// nothing is started twice is the daemon's: a lease is claimed once.
#include "keeper/starter.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobs/named_log.h"
#include "os/child.h"
#include "os/errors.h"

namespace berth::keeper {
namespace {

constexpr int kStatusDescriptor = 3;  // Of the starter.
constexpr int kCannotStart = 126;

Result<os::UniqueFd> make_file(const std::string& path, int besides) {
  os::UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | besides, 0600));
  if (!file) return os::system_error("cannot make " + path, errno);
  return file;
}

os::UniqueFd pidfd_of(pid_t pid) {
  return os::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

struct Latest {
  std::string link;
  std::string made;  // What becomes it.
};

// The log that people look at is the last one's. System calls only.
void link_latest(const Latest& latest, const std::string& target) {
  ::unlink(latest.made.c_str());
  if (::symlink(target.c_str(), latest.made.c_str()) != 0) return;
  ::rename(latest.made.c_str(), latest.link.c_str());
}

struct Start {
  const char* program;
  const char* directory;
  char* const* arguments;
  char* const* environment;
  mode_t umask;
  int status;
  int log;                       // In the job's folder.
  const std::string& named_log;  // Instead of it, once it is open; empty: there is none.
  const Latest& latest;
};

// Everything below runs between fork and exec: system calls only.

void say(int descriptor, std::string_view text) {
  if (::write(descriptor, text.data(), text.size()) < 0) return;
}

void tell_pid(int status) {
  std::array<char, 64> line{};
  const int size = std::snprintf(line.data(), line.size(), "{\"phase\":\"start\",\"pid\":%d}\n",
                                 static_cast<int>(::getpid()));
  say(status, {line.data(), static_cast<std::size_t>(size)});
}

void tell_log_at(int status, off_t size) {
  std::array<char, 64> line{};
  const int length =
      std::snprintf(line.data(), line.size(), "{\"phase\":\"start\",\"log_at_bytes\":%jd}\n",
                    static_cast<std::intmax_t>(size));
  say(status, {line.data(), static_cast<std::size_t>(length)});
}

[[noreturn]] void give_up(const Start& start, std::string_view what, const char* name) {
  const int error = errno;
  say(STDERR_FILENO, "berth: cannot ");
  say(STDERR_FILENO, what);
  say(STDERR_FILENO, name);
  say(STDERR_FILENO, ": ");
  say(STDERR_FILENO, ::strerrordesc_np(error));
  say(STDERR_FILENO, "\n");
  say(start.status, "{\"phase\":\"done\",\"code\":126}\n");
  ::_exit(kCannotStart);
}

// See Note [Where a job's output goes]. A pipe that nobody reads must not hold us up.
void take_named_log(const Start& start) {
  const char* path = start.named_log.c_str();
  const int log = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_NONBLOCK, 0600);
  struct stat found{};
  if (log < 0 || ::fstat(log, &found) != 0) give_up(start, "write its log ", path);
  if (!jobs::takes_log({.mode = found.st_mode, .device = found.st_rdev})) {
    errno = EINVAL;
    give_up(start, "write its log ", path);
  }
  ::fcntl(log, F_SETFL, O_APPEND);
  tell_log_at(start.status, found.st_size);
  if (::dup2(log, 1) < 0 || ::dup2(log, 2) < 0) give_up(start, "arrange its ", "descriptors");
  link_latest(start.latest, start.named_log);
}

[[noreturn]] void become(const Start& start) {
  os::reset_signals();
  ::setsid();
  tell_pid(start.status);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing < 0 || ::dup2(nothing, 0) < 0 || ::dup2(start.log, 1) < 0 ||
      ::dup2(start.log, 2) < 0) {
    give_up(start, "arrange its ", "descriptors");
  }
  if (!start.named_log.empty()) take_named_log(start);
  ::umask(start.umask);
  if (::chdir(start.directory) != 0) give_up(start, "start in ", start.directory);
  const bool is_arranged = ::dup2(start.status, kStatusDescriptor) == kStatusDescriptor &&
                           ::close_range(kStatusDescriptor + 1, ~0U, 0) == 0;
  if (!is_arranged) give_up(start, "arrange its ", "descriptors");
  ::execve(start.program, start.arguments, start.environment);
  give_up(start, "execute ", start.program);
}

}  // namespace

Result<Starter> start_attempt(const jobs::JobFolder& folder, const jobs::Job& job,
                              std::uint32_t attempt, std::uint32_t restarts,
                              const std::string& program) {
  TRY(words, folder.arguments(job.id));
  TRY(environment, folder.environment(job.id));
  TRY(log, make_file(folder.log_path(job.id, attempt), 0));
  TRY(status, make_file(folder.status_path(job.id, attempt), O_EXCL));
  if (::flock(status.get(), LOCK_EX | LOCK_NB) != 0) {
    return os::system_error("cannot lock " + folder.status_path(job.id, attempt), errno);
  }
  const std::string link = folder.path_of(job.id) + "/latest";
  const Latest latest{.link = link, .made = link + ".new"};
  link_latest(latest, std::to_string(attempt) + ".log");
  const std::string named_log = folder.named_log_path(job, attempt);
  std::vector<std::string> arguments = {"berth", "run",
                                        "--status-fd=" + std::to_string(kStatusDescriptor)};
  environment.push_back("BERTH_ADOPT=" + to_text(job.handle) + ":" + std::to_string(restarts));
  arguments.insert(arguments.end(), words.begin(), words.end());
  const std::vector<char*> argument_pointers = os::pointers_to(arguments);
  const std::vector<char*> environment_pointers = os::pointers_to(environment);
  const Start start{.program = program.c_str(),
                    .directory = job.directory.c_str(),
                    .arguments = argument_pointers.data(),
                    .environment = environment_pointers.data(),
                    .umask = static_cast<mode_t>(job.umask),
                    .status = status.get(),
                    .log = log.get(),
                    .named_log = named_log,
                    .latest = latest};
  const pid_t pid = ::fork();
  if (pid < 0) {
    const int error = errno;
    ::unlink(folder.status_path(job.id, attempt).c_str());  // Nothing was begun.
    return os::system_error("cannot start job " + to_text(job.id), error);
  }
  if (pid == 0) become(start);
  return Starter{.attempt = attempt, .pidfd = pidfd_of(pid), .is_child = true};
}

std::optional<Starter> find_starter(const jobs::JobFolder& folder, LeaseId id,
                                    std::uint32_t attempt) {
  if (folder.has_ended(id, attempt)) return std::nullopt;
  Starter starter{.attempt = attempt, .pidfd = {}, .is_child = false};
  if (const std::optional<std::int32_t> pid = folder.attempt(id, attempt).starter) {
    starter.pidfd = pidfd_of(*pid);
    // Had it ended before, the pid could be another's.
    if (folder.has_ended(id, attempt)) return std::nullopt;
  }
  return starter;
}

}  // namespace berth::keeper
