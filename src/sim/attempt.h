// SPDX-License-Identifier: Apache-2.0
// A copy of the coordinator in a world in which all goes well: the driver reports the truth, what
// is to be moved is, what is asked to end does, and a lease that is asked to save itself has.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "core/coordinator.h"
#include "core/event.h"
#include "model/device.h"
#include "model/lease.h"
#include "model/view.h"
#include "sim/observations.h"

namespace berth::sim {

class Attempt {
 public:
  Attempt(const Observations& observations, const core::Coordinator& coordinator, core::Now now);
  Attempt(const Attempt& other);
  Attempt& operator=(const Attempt&) = delete;

  const core::Coordinator& coordinator() const { return copy_; }
  core::Now now() const { return now_; }
  /// Where what it has comes free nobody can tell when.
  bool is_on_lost_device(LeaseId id) const;
  /// No process uses a device of the lease, and the driver tells so.
  bool is_seen_free(const LeaseView& lease) const;

  /// A daemon that has just read its journal begins; who lives is back, who does not has ended.
  void recovers();
  /// No time passes: what is proposed is true of now.
  void sample();
  /// The driver lists the dead no longer.
  void dead_leave();
  /// Nothing else happens until then.
  void wait_until(Instant instant);

  /// All at once, as one command would. False: it was refused.
  bool carry_out(Remedy::Kind kind, const std::vector<LeaseId>& leases, Bytes bytes);
  /// Its owner lets it go on. False: that was refused.
  bool resume(const LeaseView& lease);
  /// The request that was made in place of the waiting one.
  std::optional<LeaseId> ask_instead(const LeaseView& waiter, const Request& request);
  /// Leases that have to leave for it do.
  bool has_started(LeaseId id);
  /// What was begun of it, or is due, is done.
  void settle(LeaseId id);

 private:
  bool is_lost(DeviceId id) const;
  std::vector<core::Effect> feed(const core::Event& event);
  bool is_done(const core::Event& event);
  bool belongs(const ProcessSample& process, DeviceId device, const LeaseView& lease) const;
  void memory_leaves(const LeaseView& lease);
  void leave_if(const std::function<bool(const ProcessSample&, DeviceId)>& goes);
  void finish_moves(LeaseId lease);
  void report_saved(LeaseId lease);
  void leave();
  bool begin(Remedy::Kind kind, const LeaseView& lease, Bytes bytes);
  bool begin_requeue(const LeaseView& lease, core::Actor owner);
  void stops(Remedy::Kind kind, const LeaseView& lease);

  const Observations& observations_;
  core::Coordinator copy_;
  Sample devices_;                           // As the driver tells them from now on.
  std::map<LeaseId, std::uint64_t> moving_;  // Which move of each is under way.
  std::set<LeaseId> leaving_ = {};           // Of these, who has been told to since.
  std::set<LeaseId> saving_ = {};            // Which were asked since to save themselves.
  core::Now now_;
};

}  // namespace berth::sim
