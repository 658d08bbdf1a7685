// SPDX-License-Identifier: Apache-2.0
#include "child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <utility>

Child::~Child() {
  if (to_ >= 0) ::close(to_);  // Its end of input, and so its end.
  if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  if (from_ >= 0) ::close(from_);
}

bool Child::start(const std::string& route) {
  int in[2];
  int out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) return false;
  to_ = in[1];
  from_ = out[0];
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  std::string name = "cuda_caller";
  std::string word = route;
  char* const arguments[] = {name.data(), word.data(), nullptr};
  const int result = ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]);
  ::close(out[1]);
  return result == 0;
}

bool Child::kill() {
  const int pid = std::exchange(pid_, -1);
  return pid > 0 && ::kill(pid, SIGKILL) == 0 && ::waitpid(pid, nullptr, 0) == pid;
}

std::string Child::ask(const std::string& call) {
  const std::string line = call + "\n";
  if (::write(to_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return "";
  std::string answer;
  char byte = 0;
  for (; ::read(from_, &byte, 1) == 1 && byte != '\n';) answer += byte;
  // It has gone, and has nothing more once it was waited for.
  if (byte != '\n' && pid_ > 0) ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  return answer;
}
