// SPDX-License-Identifier: Apache-2.0
// The processes of a simulated machine: parents, environments, deaths, and pids that come back.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "model/lease.h"
#include "sim/context.h"

namespace berth::sim {

class Processes {
 public:
  struct Birth {
    Process parent;  // Default: init.
    UserId user;
    std::string name;
    std::optional<Handle> lease;  // BERTH_LEASE_ID in its environment,
    std::vector<LeaseId> outer;   // and BERTH_OUTER_LEASES.
    bool subreaper = false;       // What loses its parent below it becomes its child.
    bool ignores_term = false;
    std::function<void(ExitStatus)> on_end;  // Its parent's waitpid.
  };
  using Hook = std::function<void(Process)>;

  Processes(SimContext& context, std::uint32_t reuse_per_mille)
      : context_(context), reuse_per_mille_(reuse_per_mille) {}

  /// Called after each end, before the parent hears of it.
  void on_every_end(Hook hook) { hooks_.push_back(std::move(hook)); }

  Process spawn(Birth birth);
  /// Nothing, if it has ended already; one that is stopped ends when it goes on, unless by SIGKILL.
  void end(Process process, ExitStatus exit);
  /// What a signal through a pidfd does: SIGTERM unless ignored, SIGKILL always, soon.
  void signal(Process process, std::int32_t signal);
  /// It does nothing until it is continued; of signals it hears then.
  void stop(Process process);
  void go_on(Process process);
  bool is_stopped(Process process) const;
  /// Everything ends at once and nobody is told.
  void power_cut();
  /// Nothing holds this pid any more; it may come back.
  void reusable(std::int32_t pid) { reusable_.push_back(pid); }

  bool alive(Process process) const { return find(process) != nullptr; }
  /// Null if it is not alive.
  const Birth* find(Process process) const;
  /// The living process of this pid.
  std::optional<Process> with_pid(std::int32_t pid) const;
  /// Parent first; init is not among them.
  std::vector<Process> ancestors(Process process) const;
  std::vector<Process> descendants(Process process) const;
  /// Of the lease and of those inside of it, by their environment.
  std::vector<Process> of_lease(Handle lease, LeaseId id) const;

 private:
  struct Body {
    std::uint64_t start_ticks = 0;
    Birth birth;
    bool stopped = false;
    std::optional<ExitStatus> pending = {};  // How it ends when it goes on.
  };
  std::int32_t draw_pid(std::uint64_t start_ticks);
  void orphan_children_of(Process process, Process parent);

  SimContext& context_;
  std::uint32_t reuse_per_mille_;
  std::vector<Hook> hooks_;
  std::map<std::int32_t, Body> bodies_;
  std::map<std::int32_t, std::uint64_t> last_start_;  // Of a pid that has ended.
  std::vector<std::int32_t> reusable_;
  std::int32_t last_pid_ = 1'000;
};

}  // namespace berth::sim
