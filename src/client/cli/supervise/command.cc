// SPDX-License-Identifier: Apache-2.0
#include "cli/supervise/command.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "os/errors.h"
#include "os/processes.h"

namespace berth::cli {
namespace {

constexpr int kNeverStarted = 125;

bool read_exactly(int fd, void* store, std::size_t count) {
  auto* at = static_cast<char*>(store);
  while (count > 0) {
    const ssize_t got = ::read(fd, at, count);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_exactly(int fd, const void* from, std::size_t count) {
  const auto* at = static_cast<const char*>(from);
  while (count > 0) {
    const ssize_t put = ::send(fd, at, count, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    count -= static_cast<std::size_t>(put);
  }
  return true;
}

// "NAME=VALUE" sets, "NAME" unsets; each ends with a zero byte.
std::string pack(const VariableChanges& changes) {
  std::string packed;
  for (const auto& [name, value] : changes.set)
    packed.append(name).append("=").append(value) += '\0';
  for (const std::string& name : changes.unset) packed += name + '\0';
  return packed;
}

void apply(const std::string& packed) {
  for (std::size_t at = 0; at < packed.size();) {
    const std::string change = packed.c_str() + at;
    at += change.size() + 1;
    const std::size_t equals = change.find('=');
    if (equals == std::string::npos) {
      ::unsetenv(change.c_str());
    } else {
      ::setenv(change.substr(0, equals).c_str(), change.c_str() + equals + 1, 1);
    }
  }
}

// Blocked as they are, they would reach the command the moment it starts.
void forget_pending_signals() {
  sigset_t pending;
  if (::sigpending(&pending) != 0) return;
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    if (::sigismember(&pending, signal) != 1) continue;
    struct sigaction ignore{};
    struct sigaction before{};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(signal, &ignore, &before);
    ::sigaction(signal, &before, nullptr);
  }
}

// The child: waits for its variables, and becomes the command.
[[noreturn]] void become(const std::vector<std::string>& words, int pipe, const sigset_t& mask) {
  std::uint32_t size = 0;
  std::string changes;
  if (!read_exactly(pipe, &size, sizeof size)) ::_exit(kNeverStarted);
  changes.resize(size);
  if (!read_exactly(pipe, changes.data(), size)) ::_exit(kNeverStarted);
  forget_pending_signals();
  apply(changes);

  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execvp(arguments[0], arguments.data());
  const int number = errno;
  write_exactly(pipe, &number, sizeof number);
  ::_exit(number == ENOENT ? 127 : 126);
}

int trouble_with_file(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return errno == EACCES ? EACCES : ENOENT;
  if (!S_ISREG(found.st_mode)) return EACCES;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : EACCES;
}

}  // namespace

int trouble_starting(const std::string& name) {
  if (name.empty()) return ENOENT;
  if (name.find('/') != std::string::npos) return trouble_with_file(name);
  const char* variable = std::getenv("PATH");
  std::string_view path = variable == nullptr ? "/bin:/usr/bin" : variable;
  int trouble = ENOENT;
  while (true) {
    const std::size_t end = path.find(':');
    const std::string folder(path.substr(0, end));
    const int here = trouble_with_file((folder.empty() ? "." : folder) + "/" + name);
    if (here == 0) return 0;
    if (here == EACCES) trouble = EACCES;
    if (end == std::string_view::npos) return trouble;
    path.remove_prefix(end + 1);
  }
}

Result<HeldCommand> HeldCommand::make(const std::vector<std::string>& words,
                                      const Setting& setting) {
  CHECK(!words.empty());
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return os::system_error("cannot make a pipe", errno);
  }
  os::UniqueFd ours(ends[0]);
  os::UniqueFd its(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return os::system_error("cannot make a process for the command", errno);
  if (pid == 0) {
    ours = {};  // Else it would not see the end of the pipe when we die.
    if (setting.not_inherited >= 0) ::close(setting.not_inherited);
    become(words, its.get(), setting.mask);
  }
  HeldCommand command({.pid = pid, .start_ticks = 0}, std::move(ours));
  TRY(state, os::process_state(pid));
  command.process_ = state.process;
  return command;
}

// Killed, because one that was stopped would not see the end of the pipe.
HeldCommand::~HeldCommand() {
  if (!pipe_ || reaped_) return;
  ::kill(process_.pid, SIGKILL);
  reap();
}

bool HeldCommand::is_waiting() {
  if (!reaped_) reaped_ = ::waitpid(process_.pid, nullptr, WNOHANG) == process_.pid;
  return !reaped_;
}

void HeldCommand::lead_own_group() const {
  ::setpgid(process_.pid, process_.pid);
}

int HeldCommand::let_go(const VariableChanges& changes) {
  CHECK(static_cast<bool>(pipe_));
  const os::UniqueFd pipe = std::move(pipe_);
  const std::string packed = pack(changes);
  const auto size = static_cast<std::uint32_t>(packed.size());
  std::string message(sizeof size, '\0');
  std::memcpy(message.data(), &size, sizeof size);
  message += packed;
  int number = ESRCH;  // Of one that was killed while it waited.
  if (write_exactly(pipe.get(), message.data(), message.size())) {
    // exec closes the other end; a number comes only if it failed.
    if (!read_exactly(pipe.get(), &number, sizeof number)) return 0;
  }
  reap();
  return number;
}

void HeldCommand::reap() {
  while (!reaped_ && ::waitpid(process_.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  reaped_ = true;
}

}  // namespace berth::cli
