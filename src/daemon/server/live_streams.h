// SPDX-License-Identifier: Apache-2.0
// The streams of pages: first a snapshot, then once a second what is different. Those that see the
// same are told the same text, which is written once: many pages of a user cost little more than
// one. A page that does not read is told nothing until it has; then it gets a snapshot anew. One
// thread.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/ids.h"
#include "base/units.h"
#include "core/coordinator.h"
#include "core/event.h"
#include "http/transport.h"
#include "model/audit_entry.h"
#include "model/lease.h"
#include "model/view.h"
#include "wire/alerts.h"
#include "wire/live.h"
#include "wire/viewer.h"

namespace berth::server {

/// Of those who see the same.
struct LiveAudience {
  UserId user;
  bool admin = false;
  bool may_act = false;
  bool sees_all_commands = false;
  friend constexpr auto operator<=>(const LiveAudience&, const LiveAudience&) = default;
};

class LiveStreams {
 public:
  static constexpr Duration kTellEvery = seconds(1);
  static constexpr Duration kHeartbeatEvery = seconds(10);
  static constexpr std::size_t kEventsKept = 50;

  /// `epoch`: of this daemon. `host`: the machine's name.
  LiveStreams(std::string epoch, std::string host);
  /// What is told, and how.
  struct Ports {
    http::Transport& transport;
    const core::Coordinator& coordinator;
    std::function<wire::AlertList(core::Now)> alerts;
    const wire::UserNames& names;
    bool simulated = false;
  };
  /// Before the first stream.
  void connect(Ports ports) { ports_.emplace(std::move(ports)); }

  void open(ConnectionId connection, LiveAudience audience, core::Now now);
  void close(ConnectionId connection);
  /// With its reason in words.
  void happened(const AuditEntry& entry);

  /// Never while nobody listens.
  Instant next_tell() const { return next_tell_; }
  void on_timer(core::Now now);

 private:
  /// What is so at one moment.
  struct Facts {
    core::Now now;
    wire::AlertList alerts;
  };
  /// What an audience was told last; of objects a fingerprint.
  struct Told {
    std::uint64_t sequence = 0;
    std::string trouble;
    std::map<DeviceId, std::uint64_t> devices;
    std::map<LeaseId, std::uint64_t> leases;
    std::vector<LeaseId> queue;
    std::uint64_t alerts = 0;
    std::uint64_t events = 0;  // How many there had been.
    Instant at;
    std::set<ConnectionId> listeners;
  };
  struct Listener {
    LiveAudience audience;
    bool behind = false;  // It was left out once, and needs a snapshot.
  };

  Facts facts_at(core::Now now) const;
  wire::Viewer viewer_of(const LiveAudience& audience) const;
  void tell(const LiveAudience& audience, Told& told, const Facts& facts);
  std::string snapshot(const LiveAudience& audience, const Told& told, const Facts& facts) const;
  /// Notes what it finds in `told`.
  wire::LiveChange change(Told& told, const LiveAudience& audience, const Facts& facts) const;
  void note_devices(Told& told, std::vector<DeviceView> devices, wire::LiveChange& change) const;
  void note_leases(Told& told, std::vector<LeaseView> leases, const LiveAudience& audience,
                   core::Now now, wire::LiveChange& change) const;
  std::vector<AuditEntry> events_since(std::uint64_t count) const;

  const std::string epoch_;
  const std::string host_;
  std::optional<Ports> ports_;
  std::map<LiveAudience, Told> told_;
  std::map<ConnectionId, Listener> listeners_;
  std::deque<AuditEntry> events_;    // The youngest first.
  std::uint64_t events_so_far_ = 0;  // Those that were dropped, too.
  Instant next_tell_ = Instant::never();
};

}  // namespace berth::server
