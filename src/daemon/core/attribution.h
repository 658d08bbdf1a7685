// SPDX-License-Identifier: Apache-2.0
// Attribution of device memory: which process counts for which lease, what each lease uses by the
// driver's account and by its programs' own, and what it is charged for that in the ledger.
// See Note [What a sample has still to tell].
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/confirmations.h"
#include "core/decider.h"
#include "core/devices.h"
#include "core/ledger.h"
#include "core/membership.h"
#include "core/part.h"
#include "core/pressure.h"
#include "model/device.h"
#include "model/lease.h"

namespace berth::core {

/// Measured of a lease on one device.
struct Use {
  std::optional<Bytes> now;
  std::optional<std::uint32_t> gpu_utilization;  // Of its processes together, in percent.
  Bytes peak;
  bool figure_missing = false;  // The driver lists a process and gives no figure for it.
  bool runs_on = false;  // One of its processes is no member: when they are told to end, it is not.
  Bytes last;            // What was known before the figure was missing.
  Bytes upper_bound;     // The budget before it shrank, until a sample tells what is really used.

  // By the account of the lease's own programs; see Note [Two accounts].
  std::optional<Bytes> ledger;
  Bytes ledger_peak;
  std::uint64_t refused = 0;            // Allocations.
  std::uint64_t refused_told = 0;       // Of them; the last time
  std::optional<Instant> told_at;       // was this.
  std::optional<Instant> accounted_at;  // The last sample of this daemon that had its account.
  Bytes wanted;                         // By those that wait for room.
  std::optional<std::int64_t> drift;    // What the driver told beyond the ledger, in bytes.
  Bytes unexplained;                    // What it told that neither ledger nor context explains.
  Bytes unaccounted;                    // What is counted as used of that.
  Bytes excess;                // Charged for contexts that cost less; as last seen at rest.
  bool may_give_back = false;  // That excess: nothing is hidden behind it.

  Trend trend;  // Of whichever account is the higher.

  Bytes highest() const { return std::max(peak, ledger_peak); }
  /// By whichever account has more now.
  Bytes higher_now() const { return std::max(now.value_or(Bytes{}), ledger.value_or(Bytes{})); }
};
using Uses = std::map<DeviceId, Use>;

class Attribution {
 public:
  Attribution(Decider& core, Ledger& ledger, const Devices& devices, Confirmations& confirmations,
              Membership& membership)
      : core_(core),
        ledger_(ledger),
        devices_(devices),
        confirmations_(confirmations),
        membership_(membership) {}

  /// Who uses how much. Those of whom something is known that was not.
  std::set<LeaseId> take(const Sample& sample);
  /// Where nobody was ever listed a lease is over with its programs, and charged nothing from then
  /// on: what they have left behind is what is used beyond all charges.
  void count_left_behind(const Sample& sample);
  /// What the lease is charged follows from what is known of it; null: it is no more.
  void charge(LeaseId id, const Lease* lease, const std::optional<ReportedEnd>& reported_end);
  void forget(LeaseId id);
  /// Of a run that is over: its next begins with nothing.
  void forget_run(LeaseId id);

  const Uses& uses(LeaseId id) const { return known_.at(id).uses; }
  /// Null: nothing was measured of it there.
  const Use* use(LeaseId id, DeviceId device) const;
  Trend& trend(LeaseId id, DeviceId device) { return known_[id].uses[device].trend; }
  /// On all its devices: by the last sample, and by whichever account has more.
  Bytes used(LeaseId id) const;
  Bytes used_by_higher(LeaseId id) const;
  std::vector<Peak> peaks(const Lease& lease) const;
  bool is_measured(LeaseId id) const { return measured_.contains(id); }
  /// Who has memory of it runs on when its programs are told to end.
  bool runs_on(LeaseId id) const;
  bool is_over_budget(LeaseId id) const { return known_.at(id).over_budget; }
  bool is_full(LeaseId id) const { return known_.at(id).full; }
  const std::vector<UnmanagedProcess>& unmanaged_on(DeviceId device) const;
  void announce_budget(LeaseId id);

  /// Its budgets are to be `parts`; until a sample confirms it has what it had. False: none falls.
  bool keep_until_shrunk(LeaseId id, const std::vector<Part>& parts);
  /// What it has there, which is to be moved to the host; and what it has from now on is measured.
  Bytes take_leave(LeaseId id, DeviceId device);
  /// It may have so much there from now on.
  void may_use(LeaseId id, DeviceId device, Bytes bytes);

  /// Its command may have been counted for an offer that ends: it is unmanaged, where it is.
  void leave_to_unmanaged(LeaseId id);
  /// All that it is charged is.
  void disown(LeaseId id);
  /// It goes on on other devices, part by part.
  void migrate(LeaseId id, const std::vector<Part>& from, const std::vector<DeviceId>& to);
  /// For trials: the driver tells that it has nothing, or no more than its budget.
  void suppose_swapped_out(LeaseId id);
  void suppose_shrunk(LeaseId id);
  void suppose_gone(const std::set<LeaseId>& leases, const std::map<DeviceId, Bytes>& unmanaged);

 private:
  struct OfLease {
    Uses uses;
    std::vector<DeviceId> charged_on;
    bool over_budget = false;
    bool full = false;  // An allocation in it waits for room.
  };
  /// What the processes on one device use.
  struct Sums {
    Bytes ours;     // Known figures of processes of leases.
    Bytes assumed;  // What their processes without a figure may use beside that.
    Bytes theirs;   // Known figures of unmanaged processes.
    Bytes outside;  // Of these, of those who live and never had a lease.
  };

  void attribute(const DeviceSample& device, Instant asked_at, std::set<LeaseId>& touched);
  void attribute(const DeviceSample& device, const ProcessSample& process, const Lease& lease,
                 Sums& sums);
  static Bytes used_by_unmanaged(const DeviceSample& device, const Sums& sums, Bytes before);
  void account_unmanaged(const DeviceSample& device, const Sums& sums);
  void believe_shrunk(const Sample& sample, std::set<LeaseId>& touched);
  void charge_parts(LeaseId id, const Lease* lease, const std::optional<ReportedEnd>& reported_end);
  std::optional<Entry> entry_of(const Lease& lease, const Part& part,
                                const std::optional<ReportedEnd>& reported_end) const;

  // comparing.cc
  void compare(const Sample& sample);
  bool account_for(const ChargeSample& charge, const Lease& lease, Use& use) const;
  void announce_full(LeaseId id);
  void tell_refusal(const ChargeSample& charge, const Lease& lease, Use& use);

  Ref<Decider> core_;
  Ref<Ledger> ledger_;
  Ref<const Devices> devices_;
  Ref<Confirmations> confirmations_;
  Ref<Membership> membership_;
  PerLease<OfLease> known_;
  std::map<DeviceId, std::vector<UnmanagedProcess>> unmanaged_;
  std::set<LeaseId> measured_;          // Those with a figure in the last sample.
  std::optional<Instant> first_asked_;  // When the first sample of this daemon was.
};

}  // namespace berth::core
