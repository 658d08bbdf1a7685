// SPDX-License-Identifier: Apache-2.0
// What runs under a lease: a command and its children, which take and free device memory inside the
// lease's budget, and end or are ended.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/lease.h"
#include "sim/plan.h"
#include "sim/scene.h"
#include "sim/shadow.h"

namespace berth::sim {

class Program {
 public:
  Program(Scene& scene, const SessionPlan& plan) : scene_(scene), plan_(plan) {}

  /// Stands ready below its supervisor; it takes nothing before run(). `ended` is its waitpid.
  Process start(Process supervisor, Handle lease, const std::vector<LeaseId>& outer,
                std::function<void(ExitStatus)> ended);
  void run();
  bool runs() const { return runs_; }
  void end(ExitStatus exit) { scene_.processes.end(command_, exit); }
  /// To the command and its children.
  void signal(std::int32_t signal);
  Process command() const { return command_; }
  /// Nothing of it is left.
  bool over() const;

 private:
  void act();
  void plan_next();
  void take(const ShadowLease& lease);
  void give_back();
  void have_child();
  void command_ended();
  bool draw_living(Process& chosen) const;
  bool may_leak(DeviceId device) const;

  Scene& scene_;
  const SessionPlan& plan_;
  Handle lease_;
  std::vector<LeaseId> outer_;  // The leases inside of which it was asked for.
  Process supervisor_;
  Process command_;
  std::vector<Process> children_;
  bool runs_ = false;
};

}  // namespace berth::sim
