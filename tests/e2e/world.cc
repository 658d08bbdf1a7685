// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

namespace berth::e2e {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

void close_once(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

int open_pidfd(pid_t pid) {
  return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path);
  // A process may end while it is read of, which an iterator would throw.
  std::string text;
  std::array<char, 4096> part{};
  while (file.read(part.data(), part.size()) || file.gcount() > 0) {
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
  }
  return text;
}

[[noreturn]] void exec(const std::vector<std::string>& command,
                       const std::map<std::string, std::string>& environment) {
  clearenv();
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  for (int signal = 1; signal < 32; ++signal) std::signal(signal, SIG_DFL);
  execvp(arguments[0], arguments.data());
  const std::string text = command[0] + ": " + std::strerror(errno) + "\n";
  (void)!write(STDERR_FILENO, text.data(), text.size());
  _exit(127);
}

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
  return {ends[0], ends[1]};
}

/// Waits for the end of a process that need not be our child.
bool ends_within(pid_t pid, milliseconds patience) {
  const int pidfd = open_pidfd(pid);
  if (pidfd < 0) return true;
  pollfd wanted{pidfd, POLLIN, 0};
  const bool ended = poll(&wanted, 1, static_cast<int>(patience.count())) > 0;
  close(pidfd);
  return ended;
}

}  // namespace

Program::Program(Program&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::exchange(other.pidfd_, -1)),
      in_(std::exchange(other.in_, -1)),
      status_(other.status_),
      said_(other.said_),
      out_{std::exchange(other.out_.fd, -1), std::move(other.out_.text)},
      err_{std::exchange(other.err_.fd, -1), std::move(other.err_.text)} {}

Program::~Program() {
  if (pid_ > 0 && status_ < 0) {
    send(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (in_ != out_.fd) close_once(in_);
  close_once(out_.fd);
  close_once(err_.fd);
  close_once(pidfd_);
}

void Program::send(int signal) const {
  if (status_ < 0) kill(pid_, signal);
}

void Program::type(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(in_, text.data(), text.size());
    if (n < 0) return;  // It has ended, or has closed its input: the test sees that itself.
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void Program::close_input() {
  if (in_ == out_.fd) {
    type("\x04");
  } else {
    close_once(in_);
  }
}

void Program::resize_window(unsigned short rows, unsigned short columns) const {
  const winsize size{.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  EXPECT_EQ(ioctl(in_, TIOCSWINSZ, &size), 0);
}

bool Program::read_some(milliseconds patience) {
  std::array<pollfd, 3> wanted = {pollfd{out_.fd, POLLIN, 0}, pollfd{err_.fd, POLLIN, 0},
                                  pollfd{status_ < 0 ? pidfd_ : -1, POLLIN, 0}};
  const bool open = out_.fd >= 0 || err_.fd >= 0 || status_ < 0;
  if (!open || poll(wanted.data(), wanted.size(), static_cast<int>(patience.count())) <= 0) {
    return false;
  }
  const std::array<Stream*, 2> streams = {&out_, &err_};
  bool had_text = false;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (wanted[i].revents == 0) continue;
    std::array<char, 65536> buffer;
    const ssize_t n = read(streams[i]->fd, buffer.data(), buffer.size());
    if (n > 0) {
      streams[i]->text.append(buffer.data(), static_cast<std::size_t>(n));
      had_text = true;
    } else {
      if (in_ == streams[i]->fd) in_ = -1;
      close_once(streams[i]->fd);
    }
  }
  // Its end is taken note of only after all that it wrote before.
  if (!had_text && wanted[2].revents != 0) {
    int wait_status = 0;
    if (waitpid(pid_, &wait_status, WNOHANG) == pid_) reap(wait_status);
  }
  return true;
}

void Program::reap(int wait_status) {
  status_ = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

bool Program::says(std::string_view text) {
  const auto end = steady_clock::now() + kPatience;
  while (out_.text.find(text) == std::string::npos && err_.text.find(text) == std::string::npos) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
    if (left.count() <= 0 || status_ >= 0 || !read_some(left)) return false;
  }
  return true;
}

bool Program::ended() {
  while (status_ < 0 && read_some(milliseconds(0))) {
  }
  return status_ >= 0;
}

bool Program::says_next(std::string_view text) {
  const auto end = steady_clock::now() + kPatience;
  while (true) {
    if (const auto at = out_.text.find(text, said_); at != std::string::npos) {
      said_ = at + text.size();
      return true;
    }
    const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
    if (left.count() <= 0 || status_ >= 0 || !read_some(left)) return false;
  }
}

int Program::wait(std::chrono::seconds patience) {
  const auto end = steady_clock::now() + patience;
  while (status_ < 0) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
    if (left.count() > 0 && read_some(left)) continue;
    ADD_FAILURE() << "process " << pid_ << " did not end; it wrote: " << out_.text << err_.text;
    send(SIGKILL);
    int wait_status = 0;
    waitpid(pid_, &wait_status, 0);
    reap(wait_status);
  }
  while (read_some(milliseconds(0))) {  // What its end left in the pipes.
  }
  return status_;
}

World::World(const Options& options) {
  std::string name = "/tmp/bw.XXXXXX";  // Short: the path of a socket has at most 108 characters.
  if (mkdtemp(name.data()) == nullptr) std::abort();
  directory_ = name;
  for (const char* folder : {"home", "run", "state", "config/berth"}) {
    fs::create_directories(directory_ / folder);
    fs::permissions(directory_ / folder, fs::perms::owner_all);
  }
  const char* path = std::getenv("PATH");
  environment_ = {
      {"PATH", std::string(BERTH_BUILD_DIR "/bin:") + (path != nullptr ? path : "/usr/bin:/bin")},
      {"LC_ALL", "C.UTF-8"},
      {"TERM", "xterm"},
      {"HOME", home()},
      {"XDG_STATE_HOME", directory_ / "state"},
      {"XDG_CONFIG_HOME", directory_ / "config"},
      {"XDG_CACHE_HOME", directory_ / "cache"},
      {"BERTH_RUNTIME_DIR", directory_ / "run"},
      {"BERTH_SIM", options.sim},
      {"BERTH_SIM_NAME", name.substr(name.find('.') + 1)},
  };
  // A preloaded library comes before the run-time of a sanitized program that a shell starts.
  for (const char* passed : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"}) {
    if (const char* value = std::getenv(passed)) environment_[passed] = value;
  }
  environment_["ASAN_OPTIONS"] += ":verify_asan_link_order=0";
  if (!options.config.empty()) {
    std::ofstream(directory_ / "config/berth/config.toml") << options.config;
  }
}

World::~World() {
  for (const pid_t pid : processes()) {
    kill(pid, SIGTERM);
    kill(pid, SIGCONT);
  }
  for (const pid_t pid : processes()) {
    if (read_file("/proc/" + std::to_string(pid) + "/comm") != "berthd\n") continue;
    EXPECT_TRUE(ends_within(pid, kPatience)) << "the daemon did not end when told to: pid " << pid;
  }
  // One that forks while it is looked for is found in the next round.
  for (int round = 0; round < 100; ++round) {
    const std::vector<pid_t> left = processes();
    if (left.empty()) break;
    for (const pid_t pid : left) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
      (void)ends_within(pid, milliseconds(1000));
    }
  }
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

std::vector<pid_t> World::processes() const {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || *end != '\0') continue;
    const std::string environment = read_file(entry.path() / "environ");
    if (environment.find("=" + directory_.string() + "/") != std::string::npos) {
      found.push_back(pid);
    }
  }
  return found;
}

Program World::start(const std::vector<std::string>& command) const {
  const Pipe in = make_pipe();
  const Pipe out = make_pipe();
  const Pipe err = make_pipe();
  Program program;
  program.pid_ = fork();
  if (program.pid_ == 0) {
    dup2(in.read_end, STDIN_FILENO);
    dup2(out.write_end, STDOUT_FILENO);
    dup2(err.write_end, STDERR_FILENO);
    if (chdir(home().c_str()) != 0) _exit(127);
    exec(command, environment_);
  }
  close(in.read_end);
  close(out.write_end);
  close(err.write_end);
  program.pidfd_ = open_pidfd(program.pid_);
  program.in_ = in.write_end;
  program.out_.fd = out.read_end;
  program.err_.fd = err.read_end;
  std::signal(SIGPIPE, SIG_IGN);
  return program;
}

Program World::start_in_terminal(const std::vector<std::string>& command) const {
  int terminal = -1;
  const winsize size{.ws_row = 24, .ws_col = 100, .ws_xpixel = 0, .ws_ypixel = 0};
  Program program;
  program.pid_ = forkpty(&terminal, nullptr, nullptr, &size);
  if (program.pid_ == 0) {
    if (chdir(home().c_str()) != 0) _exit(127);
    exec(command, environment_);
  }
  fcntl(terminal, F_SETFD, FD_CLOEXEC);
  program.pidfd_ = open_pidfd(program.pid_);
  program.in_ = terminal;
  program.out_.fd = terminal;
  return program;
}

Output World::run(const std::vector<std::string>& command, std::string_view input,
                  std::chrono::seconds patience) const {
  Program program = start(command);
  program.type(input);
  program.close_input();
  const int status = program.wait(patience);
  return {status, program.out(), program.err()};
}

}  // namespace berth::e2e
