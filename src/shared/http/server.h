// SPDX-License-Identifier: Apache-2.0
// Connections of clients over a listening Unix socket: bytes in, requests out, and back. It bounds
// what a client can make the daemon hold or wait for, and knows nothing of leases. A connection
// that is idle or listens to a stream keeps no buffers.
//
// Note [Turns at the socket]
// A request is looked at only when the answer to the one before has left, and a connection is read
// only when what came is used up, so that nobody can make the daemon hold more than one answer for
// a connection. In a turn of the event loop one request is handled, of one user after the other:
// who has a thousand connections is served as often as who has one.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "http/fair_queue.h"
#include "http/transport.h"
#include "os/clock.h"
#include "os/unique_fd.h"
#include "wire/error.h"

namespace berth::http {

struct Limits {
  std::size_t connections = 1'024;  // Together; by descriptors.
  std::size_t connections_per_user = 1'024;
  std::uint64_t descriptors = 0;  // The limit as the kernel has it, for the message.
  Duration header_within = seconds(10);
  Duration body_within = seconds(10);
  Duration taken_within = seconds(30);  // All of an answer, by a client that asked for it.
  // The next request; absent: it may take for ever. Where anybody may connect, and none is known
  // by name, those who only connect would have all connections.
  std::optional<Duration> idle_within = {};
};

class Server final : public Transport {
 public:
  static constexpr Duration kLingerFor = seconds(1);
  static constexpr std::size_t kRefusedAtOnceMax = 64;  // Connections beyond; more are cut off.
  /// Answers of one user that are not taken yet, in bytes: at that, their next requests wait.
  static constexpr std::size_t kUntakenMax = std::size_t{8} << 20U;
  /// What a stream may be behind, in bytes: alone, and where those of its user are behind by
  /// kUntakenMax together.
  static constexpr std::size_t kStreamBacklogMax = std::size_t{1} << 20U;
  static constexpr std::size_t kStreamBacklogFree = std::size_t{128} << 10U;

  /// Who is at the other end of a connection.
  using PeerOf = std::function<Result<os::Peer>(int)>;

  /// `listening` accepts already. `hello` goes with every answer; empty: nothing does. `peer_of`
  /// must be given for sockets that are no Unix sockets, of which the kernel does not know. Its
  /// connections are numbered from `first`.
  Server(boost::asio::io_context& io, os::UniqueFd listening, Handler& handler,
         const os::Clock& clock, Limits limits, std::string hello, PeerOf peer_of = os::peer_of,
         ConnectionId first = {1});
  ~Server() override;

  void answer(ConnectionId connection, const Answer& answer) override;
  void stream(ConnectionId connection, std::string_view text) override;
  void end_stream(ConnectionId connection) override;
  bool drained(ConnectionId connection) const override;

  /// Writes what has been said since the last time, in one piece for each connection. To be called
  /// at the end of each turn of the event loop.
  void flush();

  void set_limits(const Limits& limits) { limits_ = limits; }
  std::size_t connections() const { return welcome_; }

 private:
  struct Connection;
  enum class Refuse : std::uint8_t { kNo, kAll, kUser };

  void accept_soon();
  void accept();
  void open(os::UniqueFd socket);
  Refuse over_limit(UserId user) const;
  void refuse(Connection& connection, std::string_view code, std::string message);

  void listen_to(Connection& connection);
  void readable(ConnectionId id);
  void on_disconnect(ConnectionId id);
  void take_bytes(Connection& connection, std::string_view bytes);
  void parse(Connection& connection);
  void end_of_input(Connection& connection);
  void dispatch_soon();
  void dispatch();

  void write(Connection& connection, std::string text);
  void send_out(Connection& connection);
  void written(Connection& connection);
  void count_untaken(Connection& connection);
  bool is_too_far_behind(const Connection& connection) const;
  void give_back(std::size_t bytes);

  void set_deadline(Connection& connection, Instant at);
  Instant idle_deadline() const;
  void arm_timer();
  void expired();
  void expire(Connection& connection);

  Connection* find(ConnectionId id) const;
  void drop_soon(Connection& connection);
  void drop(ConnectionId id);

  boost::asio::io_context& io_;
  boost::asio::posix::stream_descriptor listening_;
  Handler& handler_;
  const os::Clock& clock_;
  Limits limits_;
  const std::string hello_;
  const PeerOf peer_of_;

  std::map<ConnectionId, std::unique_ptr<Connection>> connections_;
  std::size_t welcome_ = 0;  // Of them; the others are about to be told that they are too many.
  struct OfUser {
    std::size_t connections = 0;
    std::size_t untaken = 0;  // Bytes of answers.
    std::size_t behind = 0;   // Of streams.
  };
  std::map<UserId, OfUser> per_user_;
  FairQueue fair_queue_;  // Connections whose request has come.
  bool dispatching_ = false;
  std::uint64_t last_id_;
  std::vector<ConnectionId> to_flush_;
  std::set<std::pair<Instant, ConnectionId>> deadlines_;
  boost::asio::steady_timer timer_;
  Instant armed_for_ = Instant::never();
  boost::asio::steady_timer accept_again_;
  std::size_t let_go_ = 0;  // Bytes of large buffers, since memory was last given back.
  std::array<char, std::size_t{64} << 10U> buffer_;  // Shared: a read is taken in at once.
};

}  // namespace berth::http
