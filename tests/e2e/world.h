// SPDX-License-Identifier: Apache-2.0
// A fresh simulated world for a test of whole programs, as tests/cli/lib.bash makes one for bats:
// own directories, simulated GPUs, the programs of this build first in PATH. What was started in it
// ends with it. For tests only, and for one thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace berth::e2e {

/// How long a test waits for what it expects before it fails.
constexpr std::chrono::seconds kPatience{20};

/// A program that was started. It is killed when its handle dies.
class Program {
 public:
  Program(Program&& other) noexcept;
  Program& operator=(Program&& other) = delete;
  ~Program();

  pid_t pid() const { return pid_; }
  void send(int signal) const;

  /// To its standard input: its terminal, if it has one.
  void type(std::string_view text);
  void close_input();
  /// Of its terminal, as a window that is drawn at another size.
  void resize_window(unsigned short rows, unsigned short columns) const;

  /// Reads until `text` is in what it wrote to stdout or stderr; false if it ended or was silent
  /// for kPatience before.
  bool says(std::string_view text);
  /// The same of what it writes to stdout, or to its terminal, after what this was last found in.
  bool says_next(std::string_view text);

  /// Its end: the exit code, or 128 + the signal, as a shell has it. Killed when patience is at its
  /// end, which fails the test.
  int wait(std::chrono::seconds patience = kPatience);
  /// Whether it has ended by now.
  bool ended();

  /// What it has written as far as it was read. In a terminal all is in out().
  const std::string& out() const { return out_.text; }
  const std::string& err() const { return err_.text; }

 private:
  friend class World;
  struct Stream {
    int fd = -1;
    std::string text;
  };
  Program() = default;
  bool read_some(std::chrono::milliseconds patience);  // False: nothing came in that time.
  void reap(int wait_status);

  pid_t pid_ = -1;
  int pidfd_ = -1;
  int in_ = -1;
  int status_ = -1;
  std::size_t said_ = 0;  // Of out_, as far as says_next() has come.
  Stream out_;
  Stream err_;
};

struct Output {
  int status;
  std::string out;
  std::string err;
};

class World {
 public:
  struct Options {
    std::string sim = "1x16GiB";
    std::string config;  // The text of its config.toml; none where empty.
  };
  World() : World(Options{}) {}
  explicit World(const Options& options);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  /// Runs a program of PATH to its end.
  Output run(const std::vector<std::string>& command, std::string_view input = {},
             std::chrono::seconds patience = kPatience) const;
  /// Starts one, its input and outputs in pipes.
  Program start(const std::vector<std::string>& command) const;
  /// Starts one in the foreground of a terminal of its own.
  Program start_in_terminal(const std::vector<std::string>& command) const;

  const std::filesystem::path& directory() const { return directory_; }
  std::filesystem::path home() const { return directory_ / "home"; }
  /// What programs are started with; may be changed.
  std::map<std::string, std::string>& environment() { return environment_; }
  /// All processes of this world, as /proc tells by their environment.
  std::vector<pid_t> processes() const;

 private:
  std::filesystem::path directory_;
  std::map<std::string, std::string> environment_;
};

}  // namespace berth::e2e
