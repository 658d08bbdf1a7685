// SPDX-License-Identifier: Apache-2.0
#include "cli/save/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <variant>

#include "cli/render/text.h"
#include "os/errors.h"

namespace berth::cli {
namespace {

// Exit statuses of a process that performs: an outcome, and a word in the pipe. One that becomes a
// command has the command's, and an empty pipe.
constexpr int kFirstOutcome = 100;
constexpr int kPipe = 3;

void become_command(const SaveContext& context, const std::string& line, CheckpointReason reason) {
  for (const auto& [name, value] : context.variables.set) ::setenv(name.c_str(), value.c_str(), 1);
  for (const std::string& name : context.variables.unset) ::unsetenv(name.c_str());
  ::setenv("BERTH_COMMAND_PID", std::to_string(context.command.pid).c_str(), 1);
  ::setenv("BERTH_CHECKPOINT_REASON", std::string(to_text(reason)).c_str(), 1);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);  // What is on stdout is the command's alone.
  ::close(kPipe);
  ::sigprocmask(SIG_SETMASK, &context.mask, nullptr);
  ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
  ::_exit(127);
}

// The child. Whatever else is open here is not for it.
[[noreturn]] void save(const SaveContext& context, CheckpointReason reason, int pipe) {
  ::setpgid(0, 0);
  ::dup2(pipe, kPipe);
  ::close_range(kPipe + 1, ~0U, 0);
  Performed performed;
  // The parent, which would hear of it, may end. A command is left to end what it has begun.
  if (!std::holds_alternative<CmdWay>(context.way)) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (const auto* cmd = std::get_if<CmdWay>(&context.way)) {
    become_command(context, cmd->line, reason);
  } else if (const auto* http = std::get_if<HttpWay>(&context.way)) {
    performed = perform(*http, reason);
  } else {
    performed = perform(std::get<SignalWay>(context.way), context.command);
  }
  const std::string& text = performed.detail;
  const ssize_t written = ::write(kPipe, text.data(), text.size());
  ::_exit(written < 0 ? 1 : kFirstOutcome + static_cast<int>(performed.outcome));
}

std::string all_of(int pipe) {
  std::array<char, 4'096> bytes{};
  const ssize_t got = ::read(pipe, bytes.data(), bytes.size());
  return got > 0 ? std::string(bytes.data(), static_cast<std::size_t>(got)) : std::string();
}

}  // namespace

Result<SaveProcess> SaveProcess::start(const SaveContext& context, CheckpointReason reason) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    return os::system_error("cannot make a pipe", errno);
  }
  os::UniqueFd ours(ends[0]);
  const os::UniqueFd its(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return os::system_error("cannot make a process for the save", errno);
  if (pid == 0) save(context, reason, its.get());
  ::setpgid(pid, pid);  // Here too: either may be first.
  return SaveProcess(pid, std::move(ours));
}

void SaveProcess::kill() const {
  ::kill(-pid_, SIGKILL);
}

Performed SaveProcess::result(int status) const {
  // Names of files may hold anything.
  std::string detail = escape_control(all_of(pipe_.get()), {.unicode = true});
  if (WIFSIGNALED(status)) {
    return {.outcome = CheckpointOutcome::kFailed,
            .detail = "it was killed by " + signal_name(WTERMSIG(status))};
  }
  const int code = WEXITSTATUS(status);
  if (!detail.empty() && code >= kFirstOutcome) {
    return {.outcome = static_cast<CheckpointOutcome>(code - kFirstOutcome),
            .detail = std::move(detail)};
  }
  if (code == 0) return {.outcome = CheckpointOutcome::kSaved, .detail = ""};
  return {.outcome = CheckpointOutcome::kFailed, .detail = "it ended with " + std::to_string(code)};
}

}  // namespace berth::cli
