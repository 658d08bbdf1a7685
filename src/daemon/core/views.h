// SPDX-License-Identifier: Apache-2.0
// Leases and devices as everyone outside the coordinator sees them.
#pragma once

#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "core/attribution.h"
#include "core/decider.h"
#include "core/devices.h"
#include "core/idle_watch.h"
#include "core/ledger.h"
#include "core/part.h"
#include "core/pressure_monitor.h"
#include "core/progress.h"
#include "core/requeuing.h"
#include "core/slices.h"
#include "core/transfers.h"
#include "core/unmanaged.h"
#include "model/lease.h"
#include "model/view.h"

namespace berth::core {

class Views {
 public:
  Views(const Decider& core, const Ledger& ledger, const Devices& devices,
        const Attribution& attribution, const UnmanagedWatch& unmanaged, const IdleWatch& idle,
        const ProgressReports& progress, const PressureMonitor& pressure,
        const Transfers& transfers, const Displaced& displaced, const LeftAlone& left_alone,
        const Slices& slices, const Requeuing& requeuing)
      : core_(core),
        ledger_(ledger),
        devices_(devices),
        attribution_(attribution),
        unmanaged_(unmanaged),
        idle_(idle),
        progress_(progress),
        pressure_(pressure),
        transfers_(transfers),
        displaced_(displaced),
        left_alone_(left_alone),
        slices_(slices),
        requeuing_(requeuing) {}

  /// Of a live lease, or of one that has ended and is remembered; else empty.
  LeaseView lease(LeaseId id, Now at) const;
  std::vector<LeaseView> ended() const;
  std::vector<DeviceView> devices(Now at) const;
  /// As Coordinator::find().
  std::variant<LeaseId, Refusal> find(std::string_view text, Actor actor) const;
  std::optional<LeaseId> find(Handle handle) const;
  std::optional<LeaseId> find(SetMember member) const;
  /// Why one that was granted is suspended or frozen: who wanted it or for whom it left.
  std::optional<Halt> halt_of(const Lease& lease, Now at) const;
  /// When it is expected to end; never, if nothing is known.
  Instant expected_end_of(const Lease& lease, Instant at) const;

 private:
  void add_indices(LeaseView& view) const;
  std::optional<Retry> next_attempt_of(const Lease& lease) const;
  void add_use(const Lease& lease, LeaseView& view) const;
  DeviceView device(const Account& account, Now at) const;

  Ref<const Decider> core_;
  Ref<const Ledger> ledger_;
  Ref<const Devices> devices_;
  Ref<const Attribution> attribution_;
  Ref<const UnmanagedWatch> unmanaged_;
  Ref<const IdleWatch> idle_;
  Ref<const ProgressReports> progress_;
  Ref<const PressureMonitor> pressure_;
  Ref<const Transfers> transfers_;
  Ref<const Displaced> displaced_;
  Ref<const LeftAlone> left_alone_;
  Ref<const Slices> slices_;
  Ref<const Requeuing> requeuing_;
};

/// When its pause ends, if it does by itself: by the clock as it is, which may have been set since.
std::optional<UnixMs> pause_end(const Held& held, Now now);

}  // namespace berth::core
