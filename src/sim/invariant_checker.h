// SPDX-License-Identifier: Apache-2.0
// Watches everything that enters or leaves the daemon and says which rule was broken first. It
// keeps the evidence; the rules are in evidence.h and turns.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "core/event.h"
#include "core/settings.h"
#include "model/device.h"
#include "model/record.h"
#include "server/engine.h"
#include "server/ports.h"
#include "sim/context.h"
#include "sim/disk.h"
#include "sim/fairness.h"
#include "sim/observations.h"
#include "sim/turns.h"

namespace berth::sim {

class InvariantChecker {
 public:
  InvariantChecker(SimContext& context, const Devices& devices, const Processes& processes,
                   const Disk& disk);

  /// So many events: each reads the whole journal, which is long after a long time.
  void audit_every(std::uint64_t events) { audit_every_ = events; }

  // What enters the daemon.
  void daemon_starts(const core::Settings& settings, bool same_boot);
  void daemon_died();
  void configured(const core::Settings& settings);
  void asked(ConnectionId connection, const server::Command& command);
  void on_disconnect(ConnectionId connection);
  void sampled(const Sample& sample);
  /// The move of that number has begun, or is over.
  void moves(LeaseId lease, std::uint64_t number, bool begins);
  /// The driver begins to move the memory of a lease back, or is done.
  void moves_back(LeaseId lease, bool begins);
  /// What the process of the lease had in host memory is on devices again.
  void came_back(LeaseId lease, Process process);

  // What leaves it.
  void wrote(const std::vector<Record>& records, const server::Engine& engine);
  void replaced(const std::vector<Record>& snapshot, std::uint64_t last_sequence, bool behind);
  void answered(ConnectionId connection, const server::Answer& answer,
                const server::Engine& engine);
  void on_item(ConnectionId connection, const server::Item& item, const server::Engine& engine);
  /// After each event, when all its effects are performed.
  void event_done(const server::Engine& engine, core::Now now);

  /// A program was refused memory inside its budget.
  void out_of_memory(std::size_t device);
  /// When everything has ended: all is given back, and all that was asked is answered.
  void all_over(const server::Engine& engine);

  const ReferenceModel& journal() const { return observations_.journal; }
  /// Leases may have ended or shrunk although the journal does not say so yet.
  bool journal_is_behind() const { return observations_.is_behind(now().instant); }
  std::uint64_t events() const { return events_; }

 private:
  struct Call {
    server::Command command;
    bool streams = false;  // It has been answered with a first item, and more will follow.
  };

  void check(std::string broken);
  void check_view(const LeaseView& view, const server::Engine& engine);
  void heard(ConnectionId connection, const Call& call, LeaseId lease);
  void note_budgets(LeaseId id, const std::vector<Part>& before);
  void check_record(const Record& record, const server::Engine& engine, bool late);
  void note_record(const Record& record, const std::optional<ReferenceLease>& before);
  void check_record_by_rules(const Record& record, const std::optional<ReferenceLease>& before,
                             const server::Engine& engine);
  core::Coordinator restored(const std::vector<Record>& records);
  static core::Coordinator started(core::Coordinator coordinator, core::Now at);
  /// A coordinator made from the disk says what the living one says.
  void audit(const server::Engine& engine, core::Now now);
  core::Now now() const { return context_.clock.now(); }

  SimContext& context_;
  const Disk& disk_;
  Observations observations_;
  Turns turns_;
  Fairness fairness_;
  std::map<ConnectionId, Call> calls_;
  std::uint64_t events_ = 0;
  bool decided_ = false;         // In the event that is going on.
  std::uint64_t decisions_ = 0;  // Events in which something was.
  std::uint64_t audit_every_ = 100;
};

}  // namespace berth::sim
