// SPDX-License-Identifier: Apache-2.0
#include "handover.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/check.h"

namespace berth::bench {
namespace {

namespace fs = std::filesystem;

struct Moments {
  std::int64_t begin_ns;
  std::int64_t end_ns;
};

pid_t spawn(const Command& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? pid : -1;
}

/// Its exit status; 128 + the signal that killed it.
int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) CHECK(errno == EINTR);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool asleep(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.substr(name_end, 3) == ") S";
}

std::vector<Moments> read_log(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<Moments> moments;
  Moments one{};
  while (file.read(reinterpret_cast<char*>(&one), sizeof one)) moments.push_back(one);
  std::sort(moments.begin(), moments.end(),
            [](const Moments& a, const Moments& b) { return a.begin_ns < b.begin_ns; });
  return moments;
}

Handover handover_of(const std::vector<Moments>& moments) {
  Handover result;
  std::int64_t end_ns = moments.empty() ? 0 : moments[0].end_ns;
  for (std::size_t i = 1; i < moments.size(); ++i) {
    if (moments[i].begin_ns < end_ns) {
      ++result.overlaps;
    } else {
      result.ms.push_back(static_cast<double>(moments[i].begin_ns - end_ns) / 1e6);
    }
    end_ns = std::max(end_ns, moments[i].end_ns);
  }
  return result;
}

/// Until `done`, asking each 20 ms.
template <class Done>
void until(Done done) {
  while (!done()) poll(nullptr, 0, 20);
}

}  // namespace

Workspace::Workspace() : directory_("/tmp/bench.XXXXXX") {
  CHECK(mkdtemp(directory_.data()) != nullptr);
}

Workspace::~Workspace() {
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

Handover measure(const Workspace& workspace, const Turns& turns) {
  const std::string log = workspace.path("log");
  const std::string hold = workspace.path("hold");
  std::error_code ignored;
  fs::remove(log, ignored);
  fs::remove(hold, ignored);
  CHECK(mkfifo(hold.c_str(), 0600) == 0);
  const std::string job = fs::read_symlink("/proc/self/exe").parent_path() / "bench_job";

  std::vector<pid_t> started = {spawn(turns.in_turn({job, log, hold}))};
  CHECK(started[0] > 0);
  until([&] { return fs::exists(log); });  // The holder has begun.
  for (int i = 0; i < turns.waiters; ++i) {
    started.push_back(spawn(turns.in_turn({job, log})));
    CHECK(started.back() > 0);
  }
  const auto waiting = [&] {
    if (turns.waiting) return turns.waiting();
    return static_cast<int>(std::count_if(started.begin() + 1, started.end(), asleep));
  };
  until([&] { return waiting() >= turns.waiters; });

  poll(nullptr, 0, turns.pause_ms);
  const int hold_fd = open(hold.c_str(), O_WRONLY | O_CLOEXEC);  // Lets the holder go.
  CHECK(hold_fd >= 0);
  close(hold_fd);
  for (const pid_t pid : started) wait_for(pid);
  if (!turns.finish.empty()) run(turns.finish);
  return handover_of(read_log(log));
}

int run(const Command& command) {
  const pid_t pid = spawn(command);
  return pid > 0 ? wait_for(pid) : -1;
}

double time_of(const Command& command) {
  const auto begin = std::chrono::steady_clock::now();
  CHECK(run(command) >= 0);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

}  // namespace berth::bench
