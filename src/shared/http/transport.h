// SPDX-License-Identifier: Apache-2.0
// The two sides of a connection's life: what the HTTP server tells its handler, and what the
// handler can do to a connection. Between them stands nothing of Asio, so that a test can play
// either side.
#pragma once

#include <string_view>

#include "base/ids.h"
#include "http/message.h"
#include "os/processes.h"

namespace berth::http {

/// Called from the event loop, never from inside a call to Transport.
class Handler {
 public:
  Handler() = default;
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;
  virtual ~Handler() = default;

  virtual void opened(ConnectionId connection, const os::Peer& peer) = 0;
  /// Not called again for a connection before the request is answered or its stream ended.
  virtual void requested(ConnectionId connection, Request request) = 0;
  virtual void closed(ConnectionId connection) = 0;
};

/// A connection that is gone is passed over in silence: closed() was or will be called. What is
/// said goes out at the end of the turn of the event loop, in this order.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual void answer(ConnectionId connection, const Answer& answer) = 0;
  /// The first piece begins the stream.
  virtual void stream(ConnectionId connection, std::string_view text) = 0;
  virtual void end_stream(ConnectionId connection) = 0;
  /// Everything written so far is in the hands of the kernel.
  virtual bool drained(ConnectionId connection) const = 0;
};

}  // namespace berth::http
