// SPDX-License-Identifier: Apache-2.0
// One `berth run` from its request to its end: joins the lease it runs inside of, or asks for one
// and waits for it; then the command runs. For a program with one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "cli/run/console.h"
#include "cli/run/enforcing.h"
#include "cli/run/queue_wait.h"
#include "cli/run/request.h"
#include "cli/run/status_descriptor.h"
#include "cli/run/submission.h"
#include "cli/save/way.h"
#include "client/client.h"
#include "config/config.h"

namespace berth::cli {

/// A job of which an attempt is started: its request is in the queue, or granted.
struct Adopted {
  Handle handle;
  std::uint32_t restarts = 0;
};

struct SessionOptions {
  RequestOptions request;
  std::vector<std::string> command;
  std::optional<std::string> lease = {};  // To run inside of; absent: that around us, or a new one.
  bool new_lease = false;
  bool notify = false;
  bool dry_run = false;
  std::optional<Enforce> enforce;         // Absent: as configured.
  std::optional<OverBudget> over_budget;  // Likewise.
  GuardMode guard_mode = GuardMode::kAuto;
  std::optional<Duration> on_full;  // How long an allocation waits for room; absent: as around it.
  SaveOptions saves = {};
  std::optional<Adopted> adopted = {};
  std::optional<Submission> submission = {};  // There: as a job, whose number is printed.
};

struct SessionPorts {
  client::ClientOptions client;
  Console& console;
  StatusDescriptor& status;
};

/// How the program shall end. What went wrong has been said.
ExitOutcome run_session(const SessionOptions& options, const config::Config& config,
                        SessionPorts ports);

}  // namespace berth::cli
