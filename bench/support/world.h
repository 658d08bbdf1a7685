// SPDX-License-Identifier: Apache-2.0
// A daemon of its own in a simulated world of its own, for measurements of whole programs.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "client/client.h"

namespace berth::bench {

/// Starts a program, its output dropped.
pid_t start(const std::vector<std::string>& words);
/// Sends a signal, and waits until it has ended.
void end(pid_t pid, int signal);

/// Processor time that a process has used so far, all its threads together.
double cpu_seconds(pid_t pid);

/// Sets the environment for all programs that are started while it lives; gone with this object.
class World {
 public:
  explicit World(std::string bin, const std::string& devices = "1x16GiB");
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  client::Client connect() const;
  pid_t daemon() const { return daemon_; }
  const std::string& bin() const { return bin_; }  // The directory of the programs.

 private:
  std::string bin_;
  std::string root_;
  std::string runtime_;
  pid_t daemon_ = 0;
  client::ClientOptions options_;
};

}  // namespace berth::bench
