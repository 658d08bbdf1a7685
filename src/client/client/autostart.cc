// SPDX-License-Identifier: Apache-2.0
#include "client/autostart.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>

#include "client/background.h"
#include "client/socket.h"
#include "os/clock.h"
#include "os/errors.h"
#include "os/files.h"
#include "os/unique_fd.h"

namespace berth::client {
namespace {

constexpr int kStartsMax = 4;
constexpr int kStartAgainAfterMs = 250;

constexpr const char* kReadyDescriptor = "3";
constexpr off_t kLogMax = off_t{1} << 20U;    // Then it begins anew.
constexpr std::size_t kComplaintMax = 2'048;  // Bytes of the daemon's last words.
// With the authorities that webhooks are to trust (SSL_CTX_set_default_verify_paths(3)).
// And by what a daemon knows that it is in a container.
constexpr std::array kNames = {
    "HOME",          "USER",         "LOGNAME",      "PATH",
    "LANG",          "TZ",           "BERTH_CONFIG", "BERTH_RUNTIME_DIR",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "container",    "KUBERNETES_SERVICE_HOST"};
constexpr std::array kPrefixes = {"LC_", "XDG_", "BERTH_SIM"};

Error not_made(const Error& error) {
  return {Errc::kCannotCreate, error.message};
}

struct Log {
  os::UniqueFd file;
  std::string path;
  off_t start = 0;  // What the new daemon writes begins here.
};

Result<Log> open_log(const os::Paths& paths) {
  Log log{.file = {}, .path = paths.runtime_dir + "/berthd.log"};
  constexpr int kFlags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
  log.file = os::UniqueFd(::open(log.path.c_str(), kFlags, 0600));
  if (!log.file) return not_made(os::system_error("cannot open " + log.path, errno));
  struct stat found{};
  if (::fstat(log.file.get(), &found) != 0) {
    return os::system_error("cannot read " + log.path, errno);
  }
  log.start = found.st_size;
  if (log.start > kLogMax && ::ftruncate(log.file.get(), 0) == 0) log.start = 0;
  return log;
}

// The last lines that the daemon wrote, without the file's older ones.
std::string complaint_in(const Log& log) {
  struct stat found{};
  if (::fstat(log.file.get(), &found) != 0) return {};
  const off_t begin = std::max(log.start, found.st_size - off_t{kComplaintMax});
  std::array<char, kComplaintMax> text{};
  const ssize_t count = ::pread(log.file.get(), text.data(), text.size(), begin);
  if (count <= 0) return {};
  std::string said(text.data(), static_cast<std::size_t>(count));
  while (said.ends_with('\n')) said.pop_back();
  constexpr std::string_view kPrefix = "berthd: ";
  return said.starts_with(kPrefix) ? said.substr(kPrefix.size()) : said;
}

// The daemon writes a line when it listens. False: it ended, or took too long.
bool wait_until_ready(int pipe, Duration within) {
  const os::PosixClock clock;
  const Instant until = clock.now() + within;
  while (clock.now() < until) {
    pollfd wanted{.fd = pipe, .events = POLLIN, .revents = 0};
    const auto left_ms = static_cast<int>((until - clock.now()).ns / milliseconds(1).ns + 1);
    if (::poll(&wanted, 1, left_ms) <= 0) continue;
    std::array<char, 16> text{};
    const ssize_t count = ::read(pipe, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    return count > 0;
  }
  return false;
}

Status start_and_wait(const AutostartOptions& options) {
  TRY(log, open_log(options.paths));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return os::system_error("cannot make a pipe", errno);
  const os::UniqueFd ready_read(ends[0]);
  os::UniqueFd ready_write(ends[1]);

  TRY_STATUS(start_in_background({.program = options.program,
                                  .arguments = {"berthd", "--ready-fd", kReadyDescriptor},
                                  .environment = daemon_environment(own_environment()),
                                  .log = log.file.get(),
                                  .ready = ready_write.get()}));
  ready_write = {};
  if (wait_until_ready(ready_read.get(), options.within)) return Unit{};
  const std::string complaint = complaint_in(log);
  return Error{Errc::kUnavailable, "berthd did not start" +
                                       (complaint.empty() ? "" : ": " + complaint) + " (see " +
                                       log.path + ")"};
}

}  // namespace

Result<bool> autostart(const AutostartOptions& options) {
  const Status directory = os::make_own_runtime_directory(options.paths);
  if (!directory.ok()) return not_made(directory.error());
  TRY(lock, os::FileLock::wait(options.paths.runtime_dir + "/start.lock"));
  // A daemon that was killed keeps its locks until the kernel has taken it apart, and meanwhile
  // nobody answers: the next one is started again a little later.
  for (int tries_left = kStartsMax; true; --tries_left) {
    if (connect_to(options.paths.socket).ok()) return false;
    const Status started = start_and_wait(options);
    if (started.ok()) return true;
    if (tries_left <= 1) return started.error();
    ::poll(nullptr, 0, kStartAgainAfterMs);
  }
}

std::vector<std::string> daemon_environment(const std::vector<std::string>& environment) {
  std::vector<std::string> kept;
  for (const std::string& variable : environment) {
    const std::string_view name = std::string_view(variable).substr(0, variable.find('='));
    const auto is_name = [name](const char* known) { return name == known; };
    const auto begins = [name](const char* prefix) { return name.starts_with(prefix); };
    if (std::ranges::any_of(kNames, is_name) || std::ranges::any_of(kPrefixes, begins)) {
      kept.push_back(variable);
    }
  }
  return kept;
}

}  // namespace berth::client
