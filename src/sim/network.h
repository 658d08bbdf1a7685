// SPDX-License-Identifier: Apache-2.0
// Connections between clients and the daemon: messages that take their time, in order within one
// connection and in any order between two; clients that hang up, readers that stall, a daemon that
// is gone with all its connections.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "base/units.h"
#include "server/engine.h"
#include "server/ports.h"
#include "sim/context.h"
#include "sim/plan.h"

namespace berth::sim {

/// What a client hears on one connection.
struct Ears {
  std::function<void(const server::Answer&)> answer;
  std::function<void(const server::Item&)> item;
  std::function<void()> closed;  // By the daemon's end.
};

/// What the daemon hears.
class Gate {
 public:
  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  virtual ~Gate() = default;

  virtual void asked(ConnectionId connection, server::Command ask,
                     server::Engine::Listen listen) = 0;
  virtual void on_disconnect(ConnectionId connection) = 0;
};

class Network {
 public:
  Network(SimContext& context, const Plan& plan) : context_(context), plan_(plan) {}

  /// The daemon listens from now on, or is gone with all connections.
  void listen(Gate& gate) { gate_ = &gate; }
  void cut_all();
  /// No more faults.
  void calm() { calm_ = true; }

  // Clients. A connection that is closed hears nothing more.

  /// Nothing: nobody listens.
  std::optional<ConnectionId> open(Ears ears);
  void ask(ConnectionId connection, server::Command ask, server::Engine::Listen listen);
  void close(ConnectionId connection);
  /// Over a connection of its own. `answered` hears nothing if the daemon goes first.
  void ask_once(const server::Command& ask, std::function<void(const server::Answer&)> answered);

  // The daemon.

  void answer(ConnectionId connection, const server::Answer& answer);
  void item(ConnectionId connection, const server::Item& item);
  bool takes_news(ConnectionId connection) const;

 private:
  struct Connection {
    Ears ears;
    Duration up_free;  // When what was sent last arrives, each way.
    Duration down_free;
    Duration stalled_until;
    bool on_disconnect = false;
  };
  Duration delay(Duration& free);
  void send_up(ConnectionId id, std::function<void()> arrive);
  void send_down(ConnectionId id, std::function<void(const Ears&)> arrive);

  SimContext& context_;
  const Plan& plan_;
  Gate* gate_ = nullptr;
  std::map<ConnectionId, Connection> connections_;
  std::uint64_t last_id_ = 0;
  bool calm_ = false;
};

}  // namespace berth::sim
