// SPDX-License-Identifier: Apache-2.0
// The door in front of a handler: requests that may not come in are answered here, and the handler
// never hears of them. One thread.
#pragma once

#include <string_view>
#include <utility>

#include "http/message.h"
#include "http/transport.h"
#include "wire/door.h"

namespace berth::http {

/// Where the target ends and its query begins.
inline std::string_view path_of(std::string_view target) {
  return target.substr(0, target.find('?'));
}

/// What the door looks at; it points into the request.
wire::DoorRequest at_the_door(const Request& request);

class DoorKeeper final : public Handler {
 public:
  /// `behind` and, from the first connection on, `transport` must outlive it.
  DoorKeeper(Handler& behind, wire::Door door) : behind_(behind), door_(std::move(door)) {}
  void connect(Transport& transport) { transport_ = &transport; }

  void opened(ConnectionId connection, const os::Peer& peer) override {
    behind_.opened(connection, peer);
  }
  void requested(ConnectionId connection, Request request) override;
  void closed(ConnectionId connection) override { behind_.closed(connection); }

 private:
  Handler& behind_;
  const wire::Door door_;
  Transport* transport_ = nullptr;
};

/// Two servers with one handler: what is said to a connection goes to the server that has it. Their
/// ids must lie apart: those of the second begin at `second_from`.
class TwoTransports final : public Transport {
 public:
  TwoTransports(Transport& first, ConnectionId second_from)
      : first_(first), second_(&first), second_from_(second_from) {}
  /// Before its first connection.
  void add_second(Transport& second) { second_ = &second; }
  /// After its last connection.
  void remove_second() { second_ = &first_; }

  void answer(ConnectionId connection, const Answer& answer) override {
    of(connection).answer(connection, answer);
  }
  void stream(ConnectionId connection, std::string_view text) override {
    of(connection).stream(connection, text);
  }
  void end_stream(ConnectionId connection) override { of(connection).end_stream(connection); }
  bool drained(ConnectionId connection) const override {
    return of(connection).drained(connection);
  }

 private:
  Transport& of(ConnectionId connection) const {
    return connection < second_from_ ? first_ : *second_;
  }

  Transport& first_;
  Transport* second_;
  const ConnectionId second_from_;
};

}  // namespace berth::http
