// SPDX-License-Identifier: Apache-2.0
#include "simgpu/testing.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/check.h"

namespace berth::simgpu {

TemporaryWorld::TemporaryWorld(const std::string& spec) {
  std::string pattern = "/tmp/berth-simgpu-test-XXXXXX";
  CHECK(::mkdtemp(pattern.data()) != nullptr);
  directory_ = pattern;
  ::setenv("BERTH_SIM", spec.c_str(), 1);
  ::setenv("BERTH_SIM_DIR", directory_.c_str(), 1);
  ::unsetenv("BERTH_SIM_NAME");
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  ::unsetenv("CUDA_DEVICE_ORDER");
}

TemporaryWorld::~TemporaryWorld() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

World TemporaryWorld::open() const {
  Result<World> world = World::open_from_environment();
  if (!world.ok()) (void)std::fprintf(stderr, "%s\n", world.error().message.c_str());
  return *std::move(world);
}

Child::Child(const std::function<void(Child&)>& run) {
  CHECK(::pipe(to_child_) == 0 && ::pipe(to_parent_) == 0);
  pid_ = ::fork();
  CHECK(pid_ >= 0);
  if (pid_ != 0) {
    ::close(to_child_[0]);
    ::close(to_parent_[1]);
    return;
  }
  ::close(to_child_[1]);
  ::close(to_parent_[0]);
  run(*this);
  ::_exit(0);
}

Child::~Child() {
  if (pid_ > 0) {
    kill();
    (void)wait();
  }
  ::close(to_child_[1]);
  ::close(to_parent_[0]);
}

void Child::tell_parent() {
  require(::write(to_parent_[1], "x", 1) == 1, "tell the parent");
}

void Child::wait_for_parent() {
  char word = 0;
  require(::read(to_child_[0], &word, 1) == 1, "hear from the parent");
}

void Child::tell_child() {
  CHECK(::write(to_child_[1], "x", 1) == 1);
}

bool Child::wait_for_child() {
  char word = 0;
  return ::read(to_parent_[0], &word, 1) == 1;
}

void Child::kill() {
  ::kill(pid_, SIGKILL);
}

int Child::wait() {
  int status = 0;
  CHECK(::waitpid(pid_, &status, 0) == pid_);
  pid_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int in_child(const std::function<void()>& run) {
  return Child([&](Child&) { run(); }).wait();
}

bool become_first_of_a_pid_namespace() {
  if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) return false;
  const pid_t first = ::fork();
  CHECK(first >= 0);
  if (first > 0) {
    int status = 0;
    (void)::waitpid(first, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
  }
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("proc", "/proc", "proc", 0, nullptr) == 0;
}

void require(bool condition, const char* what) {
  if (condition) return;
  (void)std::fprintf(stderr, "in a child: not so: %s\n", what);
  ::_exit(99);
}

}  // namespace berth::simgpu
