// SPDX-License-Identifier: Apache-2.0
// Common parts of the verbs that show the past: their options, and the question that is made of
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/daemon_session.h"
#include "cli/options.h"
#include "wire/history.h"

namespace berth::cli {

struct PastArgs {
  std::string since;  // A duration before now, or a time; empty: as the daemon has it.
  std::string until;
  std::optional<Duration> step;
  std::string gpu;
  std::string lease;
  std::string of;  // Empty: the GPUs, or all of the lease that is named.
  bool sessions = false;
  bool events = false;  // Who did what; of `berth history` alone.
  std::string user;     // Of those.

  enum class What : std::uint8_t { kFigures, kSessions, kEvents };
  What what() const { return events ? What::kEvents : sessions ? What::kSessions : What::kFigures; }
};

/// Before parse().
void declare_past(Options& options, PastArgs& asked);

/// --events and --user; likewise.
void declare_events(Options& options, PastArgs& asked);

/// What of it goes with nothing else that was asked; empty: nothing.
std::string at_odds(const PastArgs& asked);

/// What to ask the daemon for.
std::string target_of(const PastArgs& asked);

/// One full answer of each kind: its fields are those there are.
const std::string& sample_past(PastArgs::What what);

/// Says it where an answer leaves something out. False: it does.
bool check_whole(const wire::PastAnswer& answer, DaemonSession& session);

}  // namespace berth::cli
