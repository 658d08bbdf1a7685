// SPDX-License-Identifier: Apache-2.0
// Programs under a lease: a command and its children, which take and free device memory inside the
// lease's budget, and end or are ended.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/lease.h"
#include "sim/env.h"
#include "sim/plan.h"
#include "sim/reference_model.h"

namespace berth::sim {

class Program {
 public:
  Program(SimEnv& env, const SessionPlan& plan)
      : env_(env), user_(plan.user), plan_(plan.command) {}

  /// Stands ready below its supervisor; it takes nothing before run(). `ended` is its waitpid.
  Process start(Process supervisor, Handle lease, const std::vector<LeaseId>& outer,
                std::function<void(ExitStatus)> ended);
  void run();
  bool runs() const { return runs_; }
  void end(ExitStatus exit) { env_.processes.end(command_, exit); }
  /// To the command and its children.
  void signal(std::int32_t signal);
  Process command() const { return command_; }
  /// Nothing of it is left.
  bool over() const;

 private:
  void act();
  void plan_next();
  void take(const ReferenceLease& lease);
  void give_back();
  void have_child();
  void command_ended();
  bool draw_living(Process& chosen) const;
  bool may_leak(DeviceId device) const;

  SimEnv& env_;
  UserId user_;
  const SessionPlan::Command& plan_;
  Handle lease_;
  std::vector<LeaseId> outer_;  // The leases inside of which it was asked for.
  Process supervisor_;
  Process command_;
  std::vector<Process> children_;
  bool runs_ = false;
};

}  // namespace berth::sim
