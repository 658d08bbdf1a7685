// SPDX-License-Identifier: Apache-2.0
#include "simgpu/world/identity.h"

#include <dirent.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <memory>
#include <string>

#include "base/check.h"
#include "os/files.h"
#include "os/processes.h"

namespace berth::simgpu {
namespace {

constexpr std::size_t kStatusMax = 16'384;

std::int32_t number_in(std::string_view text) {
  std::int32_t number = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// The last number of "NSpid: 4711 12 1": the pid in the innermost namespace.
std::int32_t innermost_pid(const std::string& process) {
  const Result<std::string> status = os::read_file(process + "/status", kStatusMax);
  if (!status.ok()) return 0;
  const std::size_t line = status->find("\nNSpid:");
  if (line == std::string::npos) return 0;
  const std::size_t end = status->find('\n', line + 1);
  const std::string_view numbers = std::string_view(*status).substr(line, end - line);
  return number_in(numbers.substr(numbers.find_last_of("\t ") + 1));
}

std::uint64_t namespace_of(const std::string& process) {
  struct stat found{};
  return ::stat((process + "/ns/pid").c_str(), &found) == 0 ? found.st_ino : 0;
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

}  // namespace

Identity draw_identity() {
  Identity identity = 0;
  while (identity == 0) {
    CHECK(::getrandom(&identity, sizeof identity, 0) == static_cast<ssize_t>(sizeof identity));
  }
  return identity;
}

ProcessNumbers own_numbers() {
  ProcessNumbers numbers{.own_pid = ::getpid(), .pid_namespace = os::own_pid_namespace()};
  numbers.pid = numbers.own_pid;
  std::array<char, 16> text{};
  const ssize_t length = ::readlink("/proc/self", text.data(), text.size());
  if (length > 0) numbers.pid = number_in({text.data(), static_cast<std::size_t>(length)});
  const Result<os::ProcessState> state = os::process_state(numbers.pid);
  if (state.ok()) numbers.start_ticks = state->process.start_ticks;
  return numbers;
}

std::int32_t pid_in_our_proc(std::int32_t own_pid, std::uint64_t pid_namespace) {
  const std::unique_ptr<DIR, CloseDirectory> proc(::opendir("/proc"));
  if (!proc) return 0;
  while (const dirent* entry = ::readdir(proc.get())) {
    const std::int32_t pid = number_in(entry->d_name);
    const std::string process = std::string("/proc/") + entry->d_name;
    if (pid > 0 && namespace_of(process) == pid_namespace && innermost_pid(process) == own_pid)
      return pid;
  }
  return 0;
}

}  // namespace berth::simgpu
