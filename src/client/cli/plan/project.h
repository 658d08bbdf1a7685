// SPDX-License-Identifier: Apache-2.0
// Common parts of `berth plan`, `up` and `down`: the plan of the project, its leases, and our own
// verbs, which do what it comes to. For a program with one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/daemon_session.h"
#include "cli/plan/plan_file.h"
#include "cli/plan/steps.h"
#include "cli/plan/trusted.h"
#include "cli/verb.h"

namespace berth::cli {

struct Project {
  std::string directory;
  std::string label;  // Of its leases.
  Plan plan;
};

/// The option --file.
void declare_plan_file(Options& options, std::string& file);
/// The plan at that place, if it is as its user trusted it. The error is for people, and has their
/// cure; kInvalid is about what stands in the file.
Result<Project> open_project(const std::string& file);
Result<Plan> understood(const PlanText& text);
/// Says it on stderr; the status is 65 of what stands in the file.
int fail_with(const Invocation& invocation, const Error& error);
/// Every name is one of a session; else an error that names those that there are.
Status check_names(const Plan& plan, const std::vector<std::string>& names);

/// Nothing if they could not be had, which was said.
std::optional<PlanLeases> ask_plan_leases(DaemonSession& session, const std::string& label);

struct Submitted {
  std::optional<LeaseId> lease;  // Absent: it was said why not.
  int status = 0;                // As `berth submit` ended.
};
/// Starts a session with `berth submit`, after those of `leases` that it comes after.
Result<Submitted> submit_session(const PlannedSession& session, const std::string& label,
                                 const PlanLeases& leases);

enum class Save : std::uint8_t { kFirst, kNo };
/// Asks it to save itself, if it can and is to, and ends it. The exit status; what went wrong was
/// said, and it goes on where its save failed.
int end_session(const Invocation& invocation, DaemonSession& daemon, const LeaseView& lease,
                Save save);

}  // namespace berth::cli
