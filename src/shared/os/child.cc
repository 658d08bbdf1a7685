// SPDX-License-Identifier: Apache-2.0
#include "os/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "os/errors.h"

namespace berth::os {
namespace {

/// What posix_spawn takes, given back when it goes.
class Spawning {
 public:
  Spawning() {
    CHECK(::posix_spawn_file_actions_init(&actions_) == 0);
    CHECK(::posix_spawnattr_init(&attributes_) == 0);
  }
  ~Spawning() {
    (void)::posix_spawn_file_actions_destroy(&actions_);
    (void)::posix_spawnattr_destroy(&attributes_);
  }
  Spawning(const Spawning&) = delete;
  Spawning& operator=(const Spawning&) = delete;

  void prepare(const SpawnPlan& plan) {
    for (std::size_t i = 0; i < plan.standard.size(); ++i) {
      CHECK(::posix_spawn_file_actions_adddup2(&actions_, plan.standard.at(i),
                                               static_cast<int>(i)) == 0);
    }
    CHECK(::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1) == 0);
    sigset_t signals;
    (void)::sigemptyset(&signals);
    (void)::posix_spawnattr_setsigmask(&attributes_, &signals);
    (void)::sigfillset(&signals);
    (void)::posix_spawnattr_setsigdefault(&attributes_, &signals);
    (void)::posix_spawnattr_setpgroup(&attributes_, 0);
    const int apart = plan.apart == Apart::kSession ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
    (void)::posix_spawnattr_setflags(
        &attributes_, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | apart));
  }

  /// An error number, or 0.
  int spawn(std::vector<std::string> words, std::vector<std::string> environment, pid_t& child) {
    return ::posix_spawnp(&child, words.front().c_str(), &actions_, &attributes_,
                          pointers_to(words).data(), pointers_to(environment).data());
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

std::vector<std::string> environment_with(const std::map<std::string, std::string>& changes) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    if (!changes.contains(std::string(text.substr(0, text.find('=')))))
      variables.emplace_back(text);
  }
  for (const auto& [name, value] : changes) {
    std::string variable = name;
    variables.push_back(variable.append("=").append(value));
  }
  return variables;
}

}  // namespace

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

void reset_signals() {
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

Result<pid_t> spawn(const SpawnPlan& plan) {
  Spawning spawning;
  spawning.prepare(plan);
  pid_t child = 0;
  const int error = spawning.spawn(plan.words, environment_with(plan.variables), child);
  if (error != 0) return system_error("cannot start " + plan.words.front(), error);
  return child;
}

Result<Child> start_child(const ChildPlan& plan) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return system_error("cannot make a socket for " + plan.program, errno);
  }
  Child child{.socket = UniqueFd(ends[0])};
  const UniqueFd theirs(ends[1]);
  (void)::fcntl(child.socket.get(), F_SETFL, O_NONBLOCK);
  SpawnPlan spawning{.words = {plan.program},
                     .standard = {theirs.get(), theirs.get(), STDERR_FILENO}};
  spawning.words.insert(spawning.words.end(), plan.arguments.begin(), plan.arguments.end());
  if (!plan.library_path.empty()) spawning.variables["LD_LIBRARY_PATH"] = plan.library_path;
  TRY(pid, spawn(spawning));
  child.pid = pid;
  return child;
}

}  // namespace berth::os
