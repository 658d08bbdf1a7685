// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of this folder: a simulated world of their own, and our programs as processes
// that use it. For tests only.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/simulated.h"
#include "os/programs.h"

namespace berth::gpu {

/// A program of ours, running; killed when this dies. It has the simulated driver.
class Program {
 public:
  explicit Program(const std::string& name, std::vector<std::string> arguments) {
    const std::string path = *os::sibling_program(name);
    int ends[2] = {-1, -1};
    CHECK(::pipe(ends) == 0);
    pid_ = ::fork();
    CHECK(pid_ >= 0);
    if (pid_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::close(ends[0]);
      ::close(ends[1]);
      ::setenv("LD_LIBRARY_PATH", simulated_library_path(path, "").c_str(), 1);
      arguments.insert(arguments.begin(), path);
      std::vector<char*> pointers;
      for (std::string& argument : arguments) pointers.push_back(argument.data());
      pointers.push_back(nullptr);
      ::execv(path.c_str(), pointers.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    output_ = ::fdopen(ends[0], "r");
  }
  ~Program() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    if (pid_ > 0) (void)wait();
    (void)std::fclose(output_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  int pid() const { return pid_; }
  bool reads(const std::string& word) {
    char line[512];
    while (std::fgets(line, sizeof(line), output_) != nullptr) {
      if (std::string(line).find(word) != std::string::npos) return true;
    }
    return false;
  }
  int wait() {
    int status = 0;
    CHECK(::waitpid(std::exchange(pid_, 0), &status, 0) > 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = 0;
  std::FILE* output_ = nullptr;
};

/// Sets the environment for a world of its own.
class TestWorld {
 public:
  explicit TestWorld(const std::string& spec) {
    std::string pattern = "/tmp/berth-gpu-test-XXXXXX";
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    directory_ = pattern;
    ::setenv("BERTH_SIM", spec.c_str(), 1);
    ::setenv("BERTH_SIM_DIR", (directory_ + "/world").c_str(), 1);
    ::unsetenv("BERTH_SIM_NAME");
    ::unsetenv("CUDA_VISIBLE_DEVICES");
    ::unsetenv("LD_LIBRARY_PATH");
  }
  ~TestWorld() {
    ::unsetenv("BERTH_SIM");
    ::unsetenv("BERTH_SIM_DIR");
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  TestWorld(const TestWorld&) = delete;
  TestWorld& operator=(const TestWorld&) = delete;

  const std::string& directory() const { return directory_; }
  void set(std::vector<std::string> fault) const {
    EXPECT_EQ(Program("berth-simctl", std::move(fault)).wait(), 0);
  }

 private:
  std::string directory_;
};

/// The directory of our own libraries.
inline std::string library_directory() {
  const std::string probe = *os::sibling_program("berth-probe");
  return probe.substr(0, probe.rfind('/')) + "/../lib";
}

}  // namespace berth::gpu
