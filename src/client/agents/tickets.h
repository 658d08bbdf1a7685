// SPDX-License-Identifier: Apache-2.0
// Requests that wait for their turn while a client lives: each has a connection to the daemon,
// which tells what becomes of it, also between the client's calls. When the client goes, so do
// they. Not shared between threads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "agents/daemon_link.h"
#include "base/ids.h"
#include "base/units.h"
#include "client/connection.h"
#include "model/bodies.h"
#include "wire/answers.h"
#include "wire/lease.h"

namespace berth::agents {

/// A client that asks for more is told to wait for what it has asked for.
inline constexpr std::size_t kTicketsMax = 16;

struct Ticket {
  std::optional<client::Connection> stream;  // Absent: the daemon was lost, or it is over.
  std::optional<wire::LeaseAnswer> lease;    // As told last; absent: nothing was told yet.
  bool is_granted = false;
  std::optional<wire::ApiError> refusal;  // Why it is over without a grant.
  Instant retry_at;                       // Without a stream: when the daemon is looked for.

  bool is_over() const { return is_granted || refusal.has_value(); }
};

class Tickets {
 public:
  using Number = std::uint64_t;  // Of this client's requests, from 1.

  explicit Tickets(DaemonLink& daemon) : daemon_(daemon) {}

  Answered<Number> ask(const RequestBody& request);
  /// The one whose lease has that number; absent: none of this client.
  std::optional<Number> find(LeaseId lease) const;
  /// Null: it was forgotten.
  const Ticket* at(Number number) const {
    const auto found = tickets_.find(number);
    return found == tickets_.end() ? nullptr : &found->second;
  }
  /// It was told, and nothing more is to be known of it.
  void forget(Number number) { tickets_.erase(number); }

  /// Reads what has been told since.
  void look(Instant now);
  std::vector<int> descriptors() const;
  /// When look() is due although nothing was told.
  Instant wake_at() const;

 private:
  void read(Ticket& ticket, Instant now);
  void take(Ticket& ticket, const wire::SseEvent& event);
  void reconnect(Ticket& ticket, Instant now);

  DaemonLink& daemon_;
  std::map<Number, Ticket> tickets_;
  Number last_ = 0;
};

}  // namespace berth::agents
