// SPDX-License-Identifier: Apache-2.0
// Event streams: their listeners, and the news that they get. Grants and ends are told at once; a
// waiting line is told at most once a second and only if it reads differently, a few listeners at a
// time, so that ten thousand of them never stand in the way of a grant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/ids.h"
#include "base/units.h"
#include "core/coordinator.h"
#include "core/effect.h"
#include "core/event.h"
#include "model/alert.h"
#include "model/audit_entry.h"
#include "model/request.h"
#include "model/view.h"
#include "server/ports.h"

namespace berth::server {

class EventStreams {
 public:
  static constexpr Duration kLineEvery = seconds(1);         // For one listener.
  static constexpr Duration kSliceEvery = milliseconds(20);  // A slice of listeners.
  static constexpr std::size_t kSlice = 20;

  explicit EventStreams(Outbox& outbox) : outbox_(outbox) {}

  /// The requester of a request: what it waits for, up to the grant or the end.
  void open_requester(core::Now now, const core::Coordinator& coordinator, ConnectionId connection,
                      const LeaseView& lease);
  /// All news of one lease up to its end.
  void open_lease(ConnectionId connection, const LeaseView& lease);
  void open_all(ConnectionId connection);
  void open_fit(core::Now now, const core::Coordinator& coordinator, ConnectionId connection,
                core::Actor actor, Request request);
  void close(ConnectionId connection);

  /// One effect of the coordinator, at once.
  void publish(core::Now now, const core::Coordinator& coordinator, const core::Notify& notify);
  void publish(const core::NotifyUnmanaged& notify);
  void publish(core::Now now, const core::Coordinator& coordinator,
               const core::NotifyDevice& notify);
  /// To those who listen to everything; and to those who listen to the lease that it is about.
  void publish(const Alert& alert, bool to_its_lease);
  void publish(const AuditEntry& entry);
  /// Something was decided or measured: lines may read differently.
  void changed() { changed_ = true; }
  /// Tells the next slice of listeners whose line changed.
  void roll(core::Now now, const core::Coordinator& coordinator);
  Instant next_roll() const;

  std::size_t streams() const { return streams_.size(); }
  std::size_t listeners() const { return all_.size(); }  // To everything.

 private:
  struct Fit {
    core::Actor actor;
    Request request;
  };
  enum class Kind : std::uint8_t { kRequester, kLease, kAll, kFit };
  struct Stream {
    Kind kind = Kind::kAll;
    LeaseId lease;             // Of kRequester and kLease.
    std::unique_ptr<Fit> fit;  // Of kFit.
    Instant told_at;           // When its line was last told,
    std::uint64_t line = 0;    // and a fingerprint of how it read.
  };

  void publish(Item item, LeaseId lease);
  void answer_requester(core::Now now, const core::Coordinator& coordinator,
                        ConnectionId connection, Stream& stream);
  void tell_fit(core::Now now, const core::Coordinator& coordinator, ConnectionId connection,
                Stream& stream);
  bool roll_one(core::Now now, const core::Coordinator& coordinator, ConnectionId connection,
                Stream& stream);

  Outbox& outbox_;
  std::map<ConnectionId, Stream> streams_;
  std::set<std::pair<LeaseId, ConnectionId>> by_lease_;
  std::set<ConnectionId> all_;
  std::size_t lines_ = 0;             // Streams that have a line: requesters and fits.
  std::uint64_t number_ = 0;          // Of the last news.
  bool changed_ = false;              // Since the round under way began.
  std::optional<ConnectionId> next_;  // The round goes on here; none is under way if absent.
  Instant round_from_;
  Instant slice_at_;
};

}  // namespace berth::server
