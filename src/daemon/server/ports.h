// SPDX-License-Identifier: Apache-2.0
// The two ports of the engine: the world in which effects are performed, and the outbox through
// which callers are told. The daemon stands behind them with SQLite, pidfds and sockets, the
// simulator with its own. None of these methods may call back into the engine.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "core/coordinator.h"
#include "core/effect.h"
#include "model/alert.h"
#include "model/audit_entry.h"
#include "model/device.h"
#include "model/lease.h"
#include "model/record.h"
#include "model/refusal.h"
#include "model/view.h"

namespace berth::server {

class World {
 public:
  World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  virtual ~World() = default;

  /// All of these records survive a death of the daemon when this returns, or none was written.
  virtual Status append(const std::vector<Record>& records) = 0;
  /// Replaces whatever the journal holds by these, in one transaction.
  virtual Status replace(const std::vector<Record>& snapshot, std::uint64_t last_sequence) = 0;
  /// False: that process (pid and start time) is gone already. Else Engine::process_ended()
  /// follows.
  virtual bool watch(Process process) = 0;
  virtual void unwatch(Process process) = 0;
  /// That process has ended by now, also where nobody was told of it yet.
  virtual bool has_ended(Process /*process*/) const { return false; }
  /// To a watched process, never by pid; and only if its user could have sent it. False:
  /// they could not.
  virtual bool signal(const core::Signal& signal) = 0;
  /// Engine::sampled() or probe_failed() follows. Never asked again before it has.
  virtual void ask_probe() = 0;
  virtual void say(const std::string& text) = 0;
  /// Offered: its program starts only after it has asked once more, with a claim, and has to find
  /// its budgets then. Taken: it may start at once.
  enum class Taken : std::uint8_t { kOffered, kTaken };
  /// From now on the programs of a lease are held to these budgets; of one that has none (any
  /// more), nothing is kept. A world without programs of its own need not do anything.
  virtual void set_budgets(const LeaseView& /*lease*/, const std::vector<Part>& /*budgets*/,
                           Taken /*taken*/) {}
  /// Something has happened to a lease, and those who listen were told.
  virtual void on_lease_event(core::Now /*now*/, const core::Coordinator& /*coordinator*/,
                              const core::Notify& /*news*/) {}
  /// A user, or the daemon by its rules, has done this to a lease.
  virtual void did(const AuditEntry& /*entry*/) {}
  /// After did(), of an entry of which no other news tells.
  virtual void on_audit(core::Now /*now*/, const core::Coordinator& /*coordinator*/,
                        const AuditEntry& /*entry*/) {}
  struct Paused {
    bool away = false;    // Its memory is on the way out, in host memory, or on the way back.
    bool frozen = false;  // Its processes are stopped, or are to be.
    friend constexpr bool operator==(const Paused&, const Paused&) = default;
  };
  /// After set_budgets(): its programs can tell from now on that this is so.
  virtual void pause(Handle /*lease*/, Paused /*paused*/) {}
  /// Engine::transfer_done() with this number follows, once.
  virtual void transfer(const core::Transfer& /*move*/) {}
  /// What its programs use of each of these beyond what they have charged; and whether, with this,
  /// they may give back what they have charged too much for contexts.
  virtual void set_unaccounted(Handle /*lease*/, const std::vector<Bytes>& /*bytes*/,
                               const std::vector<bool>& /*may_give_back*/) {}

  // What the host knows of a sample beside the driver. Engine::sampled() asks in this order.

  /// Marks as lost, with the reason as their trouble, the devices that are not ours to grant.
  virtual void withhold(core::Now /*now*/, Sample& /*sample*/) {}
  /// What the programs of leases have charged, of `settling` ones in any case.
  virtual std::vector<ChargeSample> charges(const std::vector<Handle>& /*settling*/) { return {}; }
  /// What contexts cost, by the charges of this sample too.
  virtual std::vector<ContextSample> context_costs(const Sample& /*sample*/) { return {}; }
  /// After both: gives back what dead processes had charged and the driver has freed.
  virtual void settle_dead(const Sample& /*sample*/) {}
  /// When the driver should be asked again for the sake of the dead.
  virtual Instant ask_again_at() const { return Instant::never(); }
};

/// The one answer to a call.
using Answer = core::Reply::Answer;

/// One item of a stream of news.
struct Item {
  std::string_view event;  // "lease", "waiting", "granted", "fit" and so on: docs/protocol.md.
  std::variant<LeaseView, WhyView, FitView, UnmanagedNews, DeviceView, Alert, AuditEntry> body;
  std::vector<Refusal> refusal = {};  // One or none: why a request ended without a grant.
  std::uint64_t number = 0;  // Grows by one with each piece of news of the daemon; 0: none.
  bool last = false;         // The stream ends here, and the connection may ask again.
};

class Outbox {
 public:
  Outbox() = default;
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;
  virtual ~Outbox() = default;

  /// Ends the call of this connection.
  virtual void answer(ConnectionId connection, const Answer& answer) = 0;
  /// The first item of a call makes a stream of it.
  virtual void item(ConnectionId connection, const Item& item) = 0;
  /// False while it has not taken what it was told: news that would be out of date then waits.
  virtual bool takes_news(ConnectionId connection) const = 0;
};

}  // namespace berth::server
