// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/check.h"
#include "os/paths.h"

extern char** environ;

namespace berth::bench {
namespace {

std::string make_directory(const std::string& folder) {
  std::string pattern = folder + "/berth-bench.XXXXXX";
  CHECK(mkdtemp(pattern.data()) != nullptr);
  return pattern;
}

/// In memory, as the directory is that a session gets from the system.
std::string make_runtime_directory() {
  struct statfs found{};
  const bool memory = statfs("/dev/shm", &found) == 0 && found.f_type == TMPFS_MAGIC &&
                      access("/dev/shm", W_OK) == 0;
  return make_directory(memory ? "/dev/shm" : "/tmp");
}

}  // namespace

pid_t start(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  // It ends with this program, also where that is aborted.
  static std::string with_us[] = {"setpriv", "--pdeathsig", "KILL"};
  for (std::string& word : with_us) arguments.push_back(word.data());
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  CHECK(failed == 0);
  return pid;
}

void end(pid_t pid, int signal) {
  CHECK(kill(pid, signal) == 0);
  CHECK(waitpid(pid, nullptr, 0) == pid);
}

// Not from /proc/PID/stat, which counts in ticks of 10 ms and may miss who works less than that.
double cpu_seconds(pid_t pid) {
  double sum = 0;
  const std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    std::ifstream file(task.path() / "schedstat");
    double nanoseconds = 0;
    file >> nanoseconds;
    sum += nanoseconds / 1e9;
  }
  return sum;
}

World::World(std::string bin, const std::string& devices)
    : bin_(std::move(bin)), root_(make_directory("/tmp")), runtime_(make_runtime_directory()) {
  const auto set = [](const char* name, const std::string& value) {
    CHECK(setenv(name, value.c_str(), 1) == 0);
  };
  set("BERTH_SIM", devices);
  set("BERTH_SIM_NAME", "bench-" + std::to_string(getpid()));
  set("LD_LIBRARY_PATH", bin_ + "/../lib/simgpu");  // For those who run outside of `berth run`.
  set("BERTH_RUNTIME_DIR", runtime_);
  set("XDG_STATE_HOME", root_ + "/state");
  set("XDG_CONFIG_HOME", root_ + "/config");
  std::filesystem::create_directories(root_ + "/config/berth");
  std::ofstream(root_ + "/config/berth/config.toml")
      << "[limits]\nwaiting = 20000\nleases = 20000\nconnections = 20000\n"
         "event_streams = 20000\n[gpu]\nreserve = \"0\"\n";
  daemon_ = start({bin_ + "/berthd", "--foreground"});
  options_ = {.env = os::read_environment(),
              .autostart = client::Autostart::kNever,
              .version = BERTH_VERSION};
  const auto began = std::chrono::steady_clock::now();
  while (!client::Client::connect(options_).ok()) {
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(20));
    poll(nullptr, 0, 10);
  }
}

World::~World() {
  end(daemon_, SIGTERM);
  std::filesystem::remove_all(root_);
  std::filesystem::remove_all(runtime_);
}

client::Client World::connect() const {
  auto client = client::Client::connect(options_);
  if (!client.ok()) std::fprintf(stderr, "bench: %s\n", client.error().message.c_str());
  CHECK(client.ok());
  return *std::move(client);
}

}  // namespace berth::bench
