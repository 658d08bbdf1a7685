// SPDX-License-Identifier: Apache-2.0
// One simulated world from its seed to its end: sessions come and go under faults until enough has
// happened; then the faults stop, everybody finishes in good order, and all must be given back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/coverage.h"
#include "sim/daemon.h"
#include "sim/disk.h"
#include "sim/env.h"
#include "sim/probe.h"
#include "sim/session.h"
#include "sim/span.h"

namespace berth::sim {

struct Outcome {
  std::string broken;        // The rule, or empty.
  std::uint64_t events = 0;  // That the daemon decided.
  std::uint64_t sessions = 0;
  bool has_jobs = false;
  std::uint64_t trace_hash = 0;    // Of all that happened.
  std::uint64_t journal_hash = 0;  // Of all that the daemons wrote.
  Coverage coverage;
  Span::Kept kept{};  // By the coordinator, in a long world.

  /// Less than this shows nothing.
  bool counts() const;
};

class World {
 public:
  /// It goes on for at least the span; none: until enough has happened.
  World(std::uint64_t seed, bool printed, Duration span = {});
  Outcome run();

 private:
  struct Fate;

  void begin_far_on();
  void measure();
  void spell_begins();
  void spell_ends();
  void send_home();
  /// From now to the next time, and not in a quiet hour.
  Duration until_next(Duration least, Duration most);
  void session_arrives();
  void begin_session();
  void fate_strikes();
  void kill_daemon();
  void perhaps_cut_power();
  void jump_wall();
  void change_settings();
  void fill_disk();
  void lose_driver();
  void lose_device();
  void unmanaged_starts();
  bool has_seen_enough() const;
  void quiesce();
  void finishing();
  void settle();
  bool is_over() const;
  std::string told_waiting() const;

  std::uint64_t seed_;
  std::uint64_t settings_changed_ = 0;  // So often.
  SimContext context_;
  Plan plan_;
  Processes processes_;
  Devices devices_;
  Disk disk_;
  Network network_;
  Probe probe_;
  InvariantChecker checker_;
  Daemon daemon_;
  SimEnv env_;
  std::vector<std::unique_ptr<Session>> sessions_;  // All, so that what is planned finds them.
  std::size_t first_live_ = 0;                      // Those before it are over.
  std::vector<Process> unmanaged_;
  std::uint64_t boot_ = 1;
  Span span_;
  Duration quiet_until_;
};

}  // namespace berth::sim
