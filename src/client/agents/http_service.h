// SPDX-License-Identifier: Apache-2.0
// The protocol over HTTP, for as many clients as come: each request is looked at by the door first,
// then by the endpoint, and its calls are performed by the tools. For a program with one thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agents/tool_host.h"
#include "http/server.h"
#include "http/transport.h"
#include "mcp/endpoint.h"
#include "os/clock.h"
#include "os/unique_fd.h"
#include "wire/door.h"

namespace berth::agents {

class HttpService final : public http::Handler {
 public:
  struct Ports {
    const mcp::Catalog& catalog;  // Must outlive it, as must the tools.
    ToolHost& tools;
    os::UniqueFd listening;          // Accepts already.
    std::optional<wire::Door> door;  // Absent: a Unix socket, which lets in its owner alone.
  };
  explicit HttpService(Ports ports);

  /// Until SIGINT or SIGTERM.
  void run();

  void opened(ConnectionId connection, const os::Peer& peer) override;
  void requested(ConnectionId connection, http::Request request) override;
  void closed(ConnectionId connection) override;

 private:
  using Watched = boost::asio::posix::stream_descriptor;

  void perform(const mcp::EndpointEffects& effects);
  void perform(const mcp::HttpReply& reply);
  void perform(const mcp::HttpEvent& event);
  /// What has come of calls, and when to look again.
  void turn();
  void watch();

  const os::PosixClock clock_;
  boost::asio::io_context io_{1};
  ToolHost& tools_;
  std::optional<wire::Door> door_;
  mcp::Endpoint endpoint_;
  http::Server server_;
  std::vector<std::unique_ptr<Watched>> watched_;  // Of the tools; copies of their descriptors.
  boost::asio::steady_timer timer_;
  // A connection has one request at a time.
  std::map<mcp::ExchangeId, ConnectionId> exchanges_;
  std::map<ConnectionId, mcp::ExchangeId> under_way_;
  std::uint64_t last_exchange_ = 0;
  bool is_due_ = true;  // A turn: something may have come of calls.
};

}  // namespace berth::agents
