// SPDX-License-Identifier: Apache-2.0
// The daemon's logic without its sockets: calls become events, effects are performed in order, and
// news finds its listeners. It reads no clock and owns no descriptor, so the simulator runs this
// same code. One thread; every entry takes the moment at which it is called.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "core/coordinator.h"
#include "core/effect.h"
#include "core/event.h"
#include "model/device.h"
#include "model/record.h"
#include "model/request.h"
#include "server/event_streams.h"
#include "server/journal_writer.h"
#include "server/ports.h"
#include "server/probe_schedule.h"

namespace berth::server {

/// What a call can ask of the coordinator. The engine puts its own token into it.
using core::Command;

struct EngineSettings {
  core::Settings core;
  Duration sample_interval = seconds(1);
  std::string journal_path;  // For messages.
};

class Engine {
 public:
  Engine(EngineSettings settings, World& world, Outbox& outbox);

  /// Once, before anything else: applies what the journal holds, decides what that means now, and
  /// writes a snapshot. A record that does not fit is said aloud and left out.
  void recover(core::Now now, const std::vector<Record>& records, core::Recovered recovered);
  /// Before the end: running jobs go on, and the next daemon starts from this.
  Status write_snapshot(core::Now now);

  // Calls. A connection makes one at a time, and is answered through the outbox.

  enum class Listen : std::uint8_t {
    kAnswer,  // One answer.
    kStream,  // Submit and Reconnect: a stream up to the grant or the end.
  };
  /// The connection of a Submit or Reconnect is the requester: its end withdraws the request.
  void ask(core::Now now, ConnectionId connection, Command ask, Listen listen = Listen::kAnswer);
  /// News of one lease until it has ended.
  void follow(core::Now now, ConnectionId connection, LeaseId lease);
  /// An alert, to those who listen to everything; and to those who listen to its lease.
  void publish(const Alert& alert, bool to_its_lease) {
    event_streams_.publish(alert, to_its_lease);
  }
  std::size_t listeners() const { return event_streams_.listeners(); }
  /// News of all leases.
  void follow_all(ConnectionId connection);
  /// What would become of this request: now, and whenever it changes.
  void follow_fit(core::Now now, ConnectionId connection, core::Actor actor, Request request);
  /// The connection is gone: what it asked for and waited for is withdrawn.
  void on_disconnect(core::Now now, ConnectionId connection);
  /// A client looks at the devices: figures are kept fresh for a while.
  void want_fresh_sample(core::Now now);
  /// Nobody has looked for a while: what is known of the devices is old, or nothing is. A
  /// client that asks now should wait for the next sampled() or probe_failed(), and not for long.
  bool figures_are_old(core::Now now) const { return probe_.is_cold(now.instant, busy()); }

  // The world.

  void process_ended(core::Now now, Process process);
  /// The driver is to be asked at this instant, for the sake of others than the coordinator.
  void want_probe(Instant at) { probe_.want(at); }
  /// The driver has answered. What the host knows beside it is put into the sample, for those who
  /// look at it after the coordinator.
  void sampled(core::Now now, Sample& sample);
  void transfer_done(core::Now now, const core::TransferDone& done);
  void probe_failed(core::Now now);
  void configure(core::Now now, const EngineSettings& settings);
  /// Something was done that is of no lease.
  void note(const AuditEntry& entry) { world_.did(entry); }
  /// To be called when next_wake() has come; calling it earlier does no harm.
  void on_timer(core::Now now);
  Instant next_wake() const;

  // Questions.

  const core::Coordinator& coordinator() const { return coordinator_; }
  /// Grows with all that may change an answer of the coordinator, but for the passing of time.
  std::uint64_t version() const { return version_; }
  /// Records are waiting to be written: the disk is full or broken.
  bool journal_behind() const { return journal_.behind(); }
  std::size_t streams() const { return event_streams_.streams(); }

 private:
  enum class CallKind : std::uint8_t { kSubmit, kReconnect, kClaim, kResize, kOther };
  struct Call {
    CallKind kind = CallKind::kOther;
    Listen listen = Listen::kAnswer;
    LeaseId lease;  // Of a resize.
  };
  struct Batch;

  void decide(core::Now now, core::Event event);
  void note_ends(core::Now now, LeaseId lease);
  void perform(core::Now now, const core::Event& event, std::vector<core::Effect> effects);
  std::vector<AuditEntry> audit(core::Now now, const core::Event& event,
                                const std::vector<Record>& records,
                                const std::vector<core::Effect>& effects) const;
  void ask_probe_meanwhile(core::Now now, std::vector<core::Effect>& effects);
  void perform_one(core::Now now, const core::Effect& effect, Batch& batch);
  void announce_budgets(core::Now now, const std::set<LeaseId>& leases);
  void publish_event(core::Now now, const core::Notify& notify);
  void reply(core::Now now, const core::Reply& reply, Batch& batch);
  void set_requester(LeaseId lease, ConnectionId connection);
  void forget_requester(LeaseId lease);
  void keep_journal(core::Now now);
  void ask_probe_if_due(core::Now now);
  bool busy() const;

  EngineSettings settings_;
  World& world_;
  Outbox& outbox_;
  core::Coordinator coordinator_;
  JournalWriter journal_;
  EventStreams event_streams_;
  ProbeSchedule probe_;

  std::deque<core::Event> events_;  // Decided in this order; effects may add to it.
  bool deciding_ = false;
  std::uint64_t version_ = 0;
  // A connection has one call at a time, so its number is the token of the call.
  std::map<ConnectionId, Call> calls_;                // Not yet answered.
  std::map<LeaseId, ConnectionId> requesters_;        // Of requests waiting or on offer.
  std::set<std::pair<ConnectionId, LeaseId>> asked_;  // The same, the other way round.
  std::size_t live_ = 0;  // Leases that have not ended, waiting ones included.
  Instant core_wake_ = Instant::never();
};

}  // namespace berth::server
