// SPDX-License-Identifier: Apache-2.0
// The example program vram_user on the simulated driver, as real processes.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/check.h"
#include "simgpu/cuda/abi.h"
#include "simgpu/testing.h"

namespace berth::simgpu {
namespace {

// vram_user, running; what it prints on stdout and stderr can be read line by line.
class VramUser {
 public:
  explicit VramUser(std::vector<std::string> arguments, const char* libraries = SIMGPU_LIBRARIES) {
    int ends[2] = {-1, -1};
    CHECK(::pipe(ends) == 0);
    pid_ = ::fork();
    CHECK(pid_ >= 0);
    if (pid_ == 0) {
      ::dup2(ends[1], 1);
      ::dup2(ends[1], 2);
      ::setenv("LD_LIBRARY_PATH", libraries, 1);
      arguments.insert(arguments.begin(), PROGRAMS "/vram_user");
      std::vector<char*> pointers;
      for (std::string& argument : arguments) pointers.push_back(argument.data());
      pointers.push_back(nullptr);
      ::execv(pointers[0], pointers.data());
      ::_exit(127);
    }
    ::close(ends[1]);
    output_ = ::fdopen(ends[0], "r");
  }
  ~VramUser() {
    if (pid_ > 0) (void)end(SIGKILL);
    (void)std::fclose(output_);
  }
  VramUser(const VramUser&) = delete;
  VramUser& operator=(const VramUser&) = delete;

  int pid() const { return pid_; }

  // Reads until a line has the word; false if the output ends before.
  bool reads(const std::string& word) {
    char line[512];
    while (std::fgets(line, sizeof(line), output_) != nullptr) {
      if (std::string(line).find(word) != std::string::npos) return true;
    }
    return false;
  }
  // Something more comes in time.
  bool has_output(int within_ms) {
    pollfd output{.fd = ::fileno(output_), .events = POLLIN, .revents = 0};
    return ::poll(&output, 1, within_ms) == 1;
  }
  int wait() {
    int status = 0;
    CHECK(::waitpid(pid_, &status, 0) == pid_);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  int end(int signal) {
    ::kill(pid_, signal);
    return wait();
  }

 private:
  pid_t pid_ = 0;
  std::FILE* output_ = nullptr;
};

TEST(VramUser, AllocatesInStepsChecksItsPatternAndFrees) {
  const TemporaryWorld temporary("1x16GiB");
  VramUser user({"--bytes", "10GiB", "--step", "256MiB", "--hold", "10ms", "--verify"});
  EXPECT_TRUE(user.reads("allocated 10240 MiB in 40 steps"));
  EXPECT_TRUE(user.reads("pattern is what was written"));
  EXPECT_TRUE(user.reads("holding for 0.01 s"));
  EXPECT_TRUE(user.reads("pattern is what was written"));
  EXPECT_TRUE(user.reads("freed"));
  EXPECT_EQ(user.wait(), 0);
  World world = temporary.open();
  EXPECT_EQ(world.figures(0).used, Bytes{});
  EXPECT_EQ(world.figures(0).used_max, gib(10) + mib(300));
}

TEST(VramUser, IsCountedWhileItHolds) {
  const TemporaryWorld temporary("2x16GiB");
  VramUser large({"--bytes=8G", "--hold=forever", "--device=1", "--step=1G"});
  VramUser small({"--bytes=64M", "--hold=forever", "--device=1", "--verify=full"});
  ASSERT_TRUE(large.reads("holding") && small.reads("holding"));
  World world = temporary.open();
  EXPECT_TRUE(world.processes(0).empty());
  ASSERT_EQ(world.processes(1).size(), 2U);
  for (const ProcessFigures& process : world.processes(1)) {
    EXPECT_EQ(process.used, mib(300) + (process.pid == large.pid() ? gib(8) : mib(64)));
  }
}

TEST(VramUser, ARefusalEndsItWith1AndTheDriversWords) {
  const TemporaryWorld temporary("1x1GiB");
  VramUser user({"--bytes", "2GiB", "--step", "512MiB"});
  EXPECT_TRUE(
      user.reads("allocating 512 MiB beyond 512 MiB: CUDA_ERROR_OUT_OF_MEMORY (2): out of "
                 "memory"));
  EXPECT_EQ(user.wait(), 1);
  EXPECT_EQ(temporary.open().figures(0).used, Bytes{});
}

TEST(VramUser, KilledItLeavesNothing) {
  const TemporaryWorld temporary("1x16GiB");
  for (const int signal : {SIGKILL, SIGTERM}) {
    VramUser user({"--bytes", "8GiB", "--hold", "forever"});
    ASSERT_TRUE(user.reads("holding"));
    EXPECT_EQ(temporary.open().figures(0).used, gib(8) + mib(300));
    EXPECT_EQ(user.end(signal), 128 + signal);
    EXPECT_EQ(temporary.open().figures(0).used, Bytes{});
  }
}

TEST(VramUser, WrongUsageIs64AndNoDriver69) {
  const TemporaryWorld temporary("1x16GiB");
  EXPECT_EQ(VramUser({}).wait(), 64);
  EXPECT_EQ(VramUser({"--bytes", "8Q"}).wait(), 64);
  EXPECT_EQ(VramUser({"--bytes", "-8G"}).wait(), 64);
  EXPECT_EQ(VramUser({"--bytes", "8G", "--rate", "fast"}).wait(), 64);
  EXPECT_EQ(VramUser({"--bytes", "8G", "--hold", "1y"}).wait(), 64);
  EXPECT_EQ(VramUser({"--bytes"}).wait(), 64);
  EXPECT_EQ(VramUser({"--bytes", "8G", "--what"}).wait(), 64);
  EXPECT_EQ(VramUser({"--help"}).wait(), 0);
  VramUser nothing({"--bytes", "8G"}, "/nonexistent");
  EXPECT_TRUE(nothing.reads("no CUDA driver: libcuda.so.1"));
  EXPECT_EQ(nothing.wait(), 69);
}

TEST(VramUser, QuietItSaysNothingButErrors) {
  const TemporaryWorld temporary("1x1GiB");
  VramUser good({"--bytes", "1M", "--quiet"});
  EXPECT_FALSE(good.reads(""));
  EXPECT_EQ(good.wait(), 0);
  VramUser bad({"--bytes", "2G", "--quiet"});
  EXPECT_TRUE(bad.reads("CUDA_ERROR_OUT_OF_MEMORY"));
}

TEST(VramUser, GrowsAtARateAndThenHolds) {
  const TemporaryWorld temporary("1x16GiB");
  const auto start = std::chrono::steady_clock::now();
  VramUser user({"--bytes", "256MiB", "--rate", "500MiB", "--hold", "forever"});
  ASSERT_TRUE(user.reads("allocated 256 MiB in 16 steps"));
  // The last of its steps of 16 MiB is due when it has the 240 before.
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(480));
}

// Makes checkpoint calls from a process that has a driver of its own.
void as_caller_on(int pid, const std::function<bool(int pid)>& calls) {
  EXPECT_EQ(0, in_child([&] {
              require(cuInit(0) == CUDA_SUCCESS, "cuInit");
              require(calls(pid), "the calls succeed");
            }));
}

TEST(VramUser, OneThatIsActiveIsHeldUpWhileItIsSuspended) {
  const TemporaryWorld temporary("1x1GiB,context=0");
  World world = temporary.open();
  VramUser user({"--bytes", "600MiB", "--hold", "forever", "--active"});
  ASSERT_TRUE(user.reads("holding"));
  // On a busy machine it may come to its next call late, and wait too briefly to say so.
  bool said = false;
  for (int attempt = 0; attempt < 20 && !said; ++attempt) {
    as_caller_on(user.pid(), [](int pid) {
      return cuCheckpointProcessLock(pid, nullptr) == CUDA_SUCCESS &&
             cuCheckpointProcessCheckpoint(pid, nullptr) == CUDA_SUCCESS;
    });
    EXPECT_EQ(world.figures(0).used, Bytes{});
    EXPECT_FALSE(user.has_output(1'200));
    as_caller_on(user.pid(), [](int pid) {
      return cuCheckpointProcessRestore(pid, nullptr) == CUDA_SUCCESS &&
             cuCheckpointProcessUnlock(pid, nullptr) == CUDA_SUCCESS;
    });
    EXPECT_EQ(world.figures(0).used, mib(600));
    said = user.has_output(1'000);
  }
  ASSERT_TRUE(said);
  EXPECT_TRUE(user.reads("waited for the GPU for"));
}

// The start of the host memory that stands behind the device: four times as long, and writable.
std::uint64_t backing_of(int pid, std::uint64_t capacity) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long from = 0;
    unsigned long long to = 0;
    char writable = '-';
    if (std::sscanf(line.c_str(), "%llx-%llx r%c", &from, &to, &writable) == 3 && writable == 'w' &&
        to - from == 4 * capacity)
      return from;
  }
  return 0;
}

TEST(VramUser, MemoryThatChangedUnderItIsFoundOut) {
  const TemporaryWorld temporary("1x3GiB");
  VramUser user({"--bytes", "4MiB", "--verify", "--hold", "1s"});
  ASSERT_TRUE(user.reads("holding"));
  const std::uint64_t backing = backing_of(user.pid(), gib(3).value);
  ASSERT_NE(backing, 0U);
  std::uint64_t wrong = 0;
  const iovec here{.iov_base = &wrong, .iov_len = sizeof(wrong)};
  const iovec there{.iov_base = std::bit_cast<void*>(backing + kBlockBytes), .iov_len = 8};
  if (::process_vm_writev(user.pid(), &here, 1, &there, 1, 0) != 8) {
    std::printf("SKIPPED: this machine does not let a process write into its child\n");
    GTEST_SKIP();
  }
  EXPECT_TRUE(user.reads("is not what was written"));
  EXPECT_EQ(user.wait(), 2);
}

}  // namespace
}  // namespace berth::simgpu
