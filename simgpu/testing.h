// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of the simulated driver: a world of their own, and other processes.
#pragma once

#include <functional>
#include <string>

#include "simgpu/world/world.h"

namespace berth::simgpu {

/// Sets BERTH_SIM and BERTH_SIM_DIR for this process and its children; removes the directory.
class TemporaryWorld {
 public:
  explicit TemporaryWorld(const std::string& spec);
  ~TemporaryWorld();
  TemporaryWorld(const TemporaryWorld&) = delete;
  TemporaryWorld& operator=(const TemporaryWorld&) = delete;

  const std::string& directory() const { return directory_; }
  World open() const;

 private:
  std::string directory_;
};

/// A forked process that runs a function; it is killed when the object dies.
class Child {
 public:
  explicit Child(const std::function<void(Child&)>& run);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  int pid() const { return pid_; }

  /// In the child: tells the parent that it has got so far, or waits for the parent's word.
  void tell_parent();
  void wait_for_parent();
  /// In the parent, likewise. wait_for_child is false if the child ended instead.
  void tell_child();
  bool wait_for_child();

  void kill();
  /// Its exit status, or 128 and the number of the signal that ended it.
  int wait();

 private:
  int pid_ = 0;
  int to_child_[2] = {-1, -1};
  int to_parent_[2] = {-1, -1};
};

/// Runs a function in a process of its own and returns how it ended.
int in_child(const std::function<void()>& run);

/// In a child: goes on as the first process of a PID namespace of its own, with a /proc of its own,
/// and ends with the child. False where that is not allowed.
bool become_first_of_a_pid_namespace();

/// In a child: ends it with a line on stderr unless the condition holds.
void require(bool condition, const char* what);

}  // namespace berth::simgpu
