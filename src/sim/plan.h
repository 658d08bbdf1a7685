// SPDX-License-Identifier: Apache-2.0
// The plan that a seed decides beforehand: the machine, its settings, how often each fault is
// dealt, and what each session will want. Drawing them for a whole world at a time, instead of
// alike for all worlds, makes some worlds calm and others wild, and reaches what an average never
// would.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "core/settings.h"
#include "model/request.h"
#include "sim/coverage.h"
#include "sim/devices.h"
#include "sim/random.h"

namespace berth::sim {

struct Plan {
  std::vector<Device> devices;
  core::Settings settings;
  Duration sample_interval;
  std::uint32_t users = 1;
  std::size_t sessions_at_once = 8;
  Duration arrival_max;  // Between two sessions.
  std::array<std::uint32_t, kFaultCount> per_mille{};
  std::uint32_t slices_per_mille = 0;  // Of those that ask for memory of one device.
  bool fresh_names = false;            // One of the users works under another name each time.
  bool jobs = false;  // Some are, some are started again when they fail; users edit, hold and ask.

  std::uint32_t rate(Fault fault) const { return per_mille[static_cast<std::size_t>(fault)]; }
};

Plan draw_plan(Random& random);
core::Settings draw_settings(Random& random, const std::vector<Device>& devices);

/// What a session will do. What it does with memory is drawn while it runs.
struct SessionPlan {
  struct Client {
    Duration claims_after;
    bool never_claims = false;
    std::optional<Duration> hangs_up_after;  // From the start.
    std::optional<Duration> killed_after;
  };
  struct Command {
    Duration runs_for;
    ExitStatus exit;
    bool ignores_term = false;
    bool outlives = false;  // Its children live on when it has ended.
    bool double_forks = false;
    bool leaks = false;                    // Nothing holds it to its budget.
    std::optional<Duration> killed_after;  // From its start.
  };
  struct Reservation {
    bool anchored = false;  // It hangs on a process.
    std::uint32_t renewals = 0;
  };
  struct Release {
    std::optional<Duration> after;      // By its user, from the start.
    std::optional<Duration> on_return;  // When its memory begins to be brought back.
    bool kill = false;
    bool cancel = false;
  };
  /// From the start of the command, again and again.
  struct Demand {
    std::optional<Duration> after;
    Duration lasts;  // What is asked for.
  };

  /// Of what its requester leaves to a keeper.
  struct Job {
    bool is_one = false;
    std::uint32_t shutdown_per_mille = 0;  // Of its ends that are told to be with the machine.
  };

  /// To the holders of leases, and what this one says to those that it gets.
  struct Messages {
    std::optional<Duration> after;
    std::uint32_t agrees_per_mille = 0;
  };

  UserId user;
  Request request;
  Job job;
  Messages messages;
  Client client;
  Command command;
  Reservation reservation;
  Release release;
  Demand parks;  // While it waits, and once.
  Demand holds;
  Demand saves;
  Demand freezes;
  Demand suspends;
  std::optional<Duration> paused_for;  // With a word for how long, which ends it by itself.
  std::optional<Duration> resizes_after;
  std::optional<Duration> growth_wait;
  std::optional<Duration> moves_after;  // To other devices.
  std::optional<Duration> requeues_after;
  std::optional<Duration> edits_after;  // While it waits, again and again.
  bool edits_start = false;             // Also when it starts.
};

SessionPlan draw_session(Random& random, const Plan& plan);
/// Of a request as it is, at this time.
RequestEdit draw_edit(Random& random, const Request& request, UnixMs now);

}  // namespace berth::sim
