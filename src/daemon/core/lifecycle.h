// SPDX-License-Identifier: Apache-2.0
// Ends of leases. A lease hangs on its command and its members; when all are gone the driver is
// asked what of it is still in use, and that is charged until it is freed.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/admission.h"
#include "core/attribution.h"
#include "core/breaker.h"
#include "core/decider.h"
#include "core/devices.h"
#include "core/part.h"
#include "core/presence.h"
#include "core/requeuing.h"
#include "core/resizing.h"
#include "core/saves.h"
#include "core/transfers.h"

namespace berth::core {

/// When a request ends that has not been granted; never if it may wait as long as it takes.
Instant ends_wait(const Lease& lease);

/// The time of a reservation begins anew.
void renew(Decider& core, LeaseId id, Duration ttl);

/// As what is known of its command says.
EndResult result_of(const Held& held);
/// Of one that is being released.
EndResult result_of(const Releasing& releasing);
/// Of one that is being released: so long the one that knows how its command ended may take to say
/// so.
Duration report_within(const Lease& lease);

class Lifecycle {
 public:
  Lifecycle(Decider& core, const Devices& devices, const Admission& admission, Presence& presence,
            Attribution& attribution, Confirmations& confirmations, Membership& membership,
            Saves& saves, Resizing& resizing, Transfers& transfers, Requeuing& requeuing)
      : core_(core),
        devices_(devices),
        admission_(admission),
        presence_(presence),
        attribution_(attribution),
        confirmations_(confirmations),
        membership_(membership),
        saves_(saves),
        resizing_(resizing),
        transfers_(transfers),
        requeuing_(requeuing),
        breaker_(core) {}

  void on(const ReportExit& event);
  void on(const Release& event);
  void on(const Cancel& event);
  void on(const Renew& event);
  void on(const ProcessEnded& event);

  /// Its processes are told to end, and killed after a while.
  void revoke(LeaseId id, EndResult result, std::optional<UserId> by = {});
  /// It has no budget any more, and is charged what is left of it until that is freed.
  void start_releasing(LeaseId id, EndResult result, std::optional<UserId> by = {});
  /// Of one that was not taken up: its requester hears why.
  void end_waiting(LeaseId id, EndResult result, std::vector<Refusal> refusal,
                   std::optional<UserId> by = {});
  /// The offer was not taken up: the request is back in its place.
  void lapse(LeaseId id, bool parked);
  /// If its memory is free and all that is to be told was: it is over, or waits again.
  void finish_if_free(LeaseId id);
  /// What a sample says of those that end.
  void settle_with(const Sample& sample);
  /// What is under way with its memory or its processes is over.
  void transfer_over(LeaseId id);
  /// Its `berth run` is gone, or does not wait for it any more.
  void nobody_starts_it_again(LeaseId id);
  /// Supposes that all of it is over, and that it waits again. False: it cannot.
  bool suppose_requeued(LeaseId id);

  /// The processes for whose end it waits; null: it is no more.
  void update_watches(LeaseId id, const Lease* lease);
  /// When something of all this is due.
  Instant due(const Lease& lease) const;
  /// What is due of what it was asked about its exit. False: nothing is.
  bool tend_exit(LeaseId id);
  /// The rest, one thing at a time.
  void tend(LeaseId id);
  void forget(LeaseId id) {
    known_.forget(id);
    breaker_.forget(id);
  }
  void forget_run(LeaseId id);

 private:
  struct ReleaseWay {
    bool ends_them = false;  // Its programs.
    bool detaches = false;   // They go on without it.
  };
  void release(LeaseId id, std::optional<UserId> by, ReleaseWay way);
  void cancel_members(LeaseId set, std::optional<UserId> by);
  struct OfLease {
    std::vector<Process> watched;      // Each once, in order.
    bool killed = false;               // SIGKILL was sent.
    std::optional<Token> exit_waiter;  // Who waits to hear what the command left behind.
    Instant exit_answer_by = Instant::never();
  };

  void process_ended(LeaseId id, Process process);
  void supervisor_ended(LeaseId id);
  void command_finished(LeaseId id);
  void settle(LeaseId id);
  void settle_one(LeaseId id);
  bool may_be_brought_back(const Lease& lease) const;
  void answer_exit(LeaseId id);
  void wait_again(LeaseId id, std::optional<Retry> retry = {});
  std::optional<Instant> kill_due(const Lease& lease) const;
  void kill_programs(LeaseId id);
  void send_signal(LeaseId id, std::int32_t signal);
  Instant due_of_held(const Lease& lease, const Held& held) const;
  Instant due_of_releasing(const Lease& lease, const Releasing& releasing) const;
  void tend_waiting(const Lease& lease, const Waiting& waiting);
  void tend_held(const Lease& lease, const Held& held);
  void tend_releasing(const Lease& lease);
  std::vector<Process> watch_list(const Lease& lease) const;

  Ref<Decider> core_;
  Ref<const Devices> devices_;
  Ref<const Admission> admission_;
  Ref<Presence> presence_;
  Ref<Attribution> attribution_;
  Ref<Confirmations> confirmations_;
  Ref<Membership> membership_;
  Ref<Saves> saves_;
  Ref<Resizing> resizing_;
  Ref<Transfers> transfers_;
  Ref<Requeuing> requeuing_;
  PerLease<OfLease> known_;
  Breaker breaker_;                                // Of sets.
  std::set<std::pair<Process, LeaseId>> watches_;  // Who waits for the end of which process.
};

}  // namespace berth::core
