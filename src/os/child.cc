// SPDX-License-Identifier: Apache-2.0
#include "os/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "os/errors.h"

namespace berth::os {
namespace {

/// What posix_spawn takes, given back when it goes.
class SpawnPlan {
 public:
  SpawnPlan() {
    CHECK(::posix_spawn_file_actions_init(&actions_) == 0);
    CHECK(::posix_spawnattr_init(&attributes_) == 0);
  }
  ~SpawnPlan() {
    (void)::posix_spawn_file_actions_destroy(&actions_);
    (void)::posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  void prepare(int socket) {
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO}) {
      CHECK(::posix_spawn_file_actions_adddup2(&actions_, socket, standard) == 0);
    }
    CHECK(::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1) == 0);
    sigset_t signals;
    (void)::sigemptyset(&signals);
    (void)::posix_spawnattr_setsigmask(&attributes_, &signals);
    (void)::sigfillset(&signals);
    (void)::posix_spawnattr_setsigdefault(&attributes_, &signals);
    (void)::posix_spawnattr_setpgroup(&attributes_, 0);
    (void)::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }

  /// An error number, or 0.
  int spawn(std::vector<std::string> words, std::vector<std::string> environment, pid_t& child) {
    const auto pointers = [](std::vector<std::string>& texts) {
      std::vector<char*> list;
      list.reserve(texts.size() + 1);
      for (std::string& text : texts) list.push_back(text.data());
      list.push_back(nullptr);
      return list;
    };
    return ::posix_spawn(&child, words.front().c_str(), &actions_, &attributes_,
                         pointers(words).data(), pointers(environment).data());
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

std::vector<std::string> environment_with(const std::string& library_path) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const bool replaced =
        !library_path.empty() && std::string_view(*variable).starts_with("LD_LIBRARY_PATH=");
    if (!replaced) variables.emplace_back(*variable);
  }
  if (!library_path.empty()) variables.push_back("LD_LIBRARY_PATH=" + library_path);
  return variables;
}

}  // namespace

Result<Child> start_child(const ChildPlan& plan) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return system_error("cannot make a socket for " + plan.program, errno);
  }
  Child child{.socket = UniqueFd(ends[0])};
  const UniqueFd theirs(ends[1]);
  (void)::fcntl(child.socket.get(), F_SETFL, O_NONBLOCK);
  SpawnPlan spawn;
  spawn.prepare(theirs.get());
  std::vector<std::string> words = {plan.program};
  words.insert(words.end(), plan.arguments.begin(), plan.arguments.end());
  const int error = spawn.spawn(std::move(words), environment_with(plan.library_path), child.pid);
  if (error != 0) return system_error("cannot start " + plan.program, error);
  return child;
}

}  // namespace berth::os
