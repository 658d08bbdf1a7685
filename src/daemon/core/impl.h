// SPDX-License-Identifier: Apache-2.0
// The inside of the coordinator: its parts, each of which knows those above it alone. The state
// survives and changes by records only; what a part knows beside it dies with the daemon.
#pragma once

#include <optional>
#include <vector>

#include "core/admission.h"
#include "core/attribution.h"
#include "core/confirmations.h"
#include "core/coordinator.h"
#include "core/decider.h"
#include "core/dependencies.h"
#include "core/devices.h"
#include "core/displaced.h"
#include "core/escalation.h"
#include "core/explainer.h"
#include "core/idle_watch.h"
#include "core/indexes.h"
#include "core/ledger.h"
#include "core/left_alone.h"
#include "core/lifecycle.h"
#include "core/membership.h"
#include "core/messages.h"
#include "core/presence.h"
#include "core/pressure_monitor.h"
#include "core/progress.h"
#include "core/requests.h"
#include "core/requeuing.h"
#include "core/resizing.h"
#include "core/saves.h"
#include "core/scheduler.h"
#include "core/slices.h"
#include "core/timers.h"
#include "core/transfers.h"
#include "core/unmanaged.h"
#include "core/views.h"
#include "core/yielding.h"

namespace berth::core {

struct Coordinator::Impl final : Decider {
  using Decider::Decider;

  Ledger ledger;
  Indexes indexes{*this, ledger};
  Devices devices{*this, ledger};
  Confirmations confirmations{*this};
  Membership membership{*this};
  Attribution attribution{*this, ledger, devices, confirmations, membership};
  UnmanagedWatch unmanaged{*this, ledger, attribution};
  IdleWatch idle{*this, ledger, attribution};
  ProgressReports progress{*this};
  PressureMonitor pressure{*this, devices, attribution};
  Dependencies dependencies{*this};
  Presence presence{*this, indexes, dependencies};
  Admission admission{*this, ledger, devices, indexes};
  Saves saves{*this};
  Resizing resizing{*this, ledger, indexes, devices, attribution, admission};
  Displaced displaced{*this};
  LeftAlone left_alone{*this};
  Transfers transfers{*this,       ledger,        devices,  indexes,   presence,
                      attribution, confirmations, resizing, displaced, left_alone};
  Messages messages{*this, transfers};
  Slices slices{*this, ledger, devices, indexes, presence, attribution, confirmations, transfers};
  Yielding yielding{*this, ledger, devices, indexes, presence, attribution, transfers, messages};
  Requeuing requeuing{*this, admission, presence, saves};
  Lifecycle lifecycle{*this,      devices, admission, presence,  attribution, confirmations,
                      membership, saves,   resizing,  transfers, requeuing};
  Escalation escalation{*this, devices,   indexes,   attribution, pressure,
                        saves, transfers, displaced, requeuing,   lifecycle};
  Scheduler scheduler{*this, ledger, indexes, presence, resizing, transfers, slices, yielding};
  Views views{*this,    ledger,    devices,   attribution, unmanaged, idle,     progress,
              pressure, transfers, displaced, left_alone,  slices,    requeuing};
  Explainer explainer{*this, ledger, indexes, admission, dependencies, presence, slices, views};
  Requests requests{*this,    ledger,        devices,   admission, dependencies,
                    presence, confirmations, requeuing, lifecycle, explainer};
  Timers timers;
  std::optional<Instant> wake_at;  // What was last asked for.

  Status apply(const Record& record) { return state_.apply(record); }
  std::vector<Effect> step(Now at, const Event& event);
  /// Measures end by what was scheduled, and what ends makes room: nothing is left for the next
  /// event that could be done now.
  void settle_everything();
  /// As step() does, for trials.
  void begin(Now at) { now_ = at; }
  /// It stands at another place: what points into its state is made anew.
  void was_copied();
  void check_everything() const;

  void on(const Sampled& event);
  void on(const TransferDone& event);
  void on(const Woke& event);
  void on(const Configured& event);
  void on(const Recovered& event);
  void on(const JournalFailed& event);
  void on(const JournalMended& event);

 private:
  void derive(LeaseId id) override;
  void derive_deadline(LeaseId id) override;
  void save_ended(LeaseId id) override { requeuing.after_save(id); }
  void leave_queues(LeaseId id) override;
  void forget_run(LeaseId id) override;
  void forget(LeaseId id);
  Instant deadline_of(const Lease& lease) const;
  void on_due(LeaseId id);
  void end_what_never_starts();
  void ask_probe_again(Instant asked_at);
  void lose_everything();
  bool starts_after_boot(const Lease& lease, EndResult result) const;
  void recover(LeaseId id);
};

}  // namespace berth::core
