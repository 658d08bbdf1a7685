// SPDX-License-Identifier: Apache-2.0
#include "http/server.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <optional>

#include "base/check.h"
#include "base/quantity.h"
#include "http/outgoing.h"
#include "http/parser.h"

namespace berth::http {
namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

constexpr int kAcceptsPerTurn = 64;
constexpr std::size_t kGiveBackAt = std::size_t{16} << 20U;

enum class State : std::uint8_t {
  kIdle,       // No request is under way.
  kReading,    // A part of one has come.
  kQueued,     // It is whole, and waits for its turn.
  kAnswering,  // The handler has it.
  kStreaming,  // Its answer is a stream that goes on.
  kClosing,    // Nothing more is read as a request; it ends when the answer is written.
  kLingering,  // Written; waits for the other side to close, so that it gets to read the answer.
  kDropped,    // To be taken away by the event loop.
};

/// How many bytes the kernel took: none if it takes no more now, absent if nobody is there to read.
/// Not by Asio, whose writes to a descriptor would raise SIGPIPE.
std::optional<std::size_t> send_some(int socket, std::string_view bytes) {
  const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return 0;
  return std::nullopt;
}

}  // namespace

struct Server::Connection {
  Connection(boost::asio::io_context& io, int fd, ConnectionId number, UserId owner)
      : socket(io, fd), id(number), user(owner) {}

  bool answers() const { return state == State::kAnswering || state == State::kStreaming; }
  bool ends() const { return state == State::kClosing || state == State::kLingering; }
  /// See Note [Turns at the socket].
  bool may_be_read() const {
    return !input_ended && (in.empty() || ends() || state == State::kReading);
  }
  std::size_t untaken() const { return out.size(); }

  stream_descriptor socket;
  const ConnectionId id;
  const UserId user;
  State state = State::kIdle;
  bool keep_alive = true;
  bool chunks = true;
  bool to_flush = false;       // It has something to write at the end of this turn,
  bool write_waits = false;    // or when the kernel takes more.
  bool read_waits = false;     // For bytes or their end,
  bool hang_up_waits = false;  // or for the end of the connection only.
  bool input_ended = false;
  bool counted = true;             // In per_user_, and known to the handler.
  std::optional<Parser> parser;    // Of kReading.
  std::optional<Request> request;  // Of kQueued.
  std::string in;                  // Came, and is not parsed yet.
  Outgoing out;
  std::size_t untaken_counted = 0;  // In per_user_: of answers,
  std::size_t behind_counted = 0;   // and of a stream.
  Instant deadline = Instant::never();
};

Server::Server(boost::asio::io_context& io, os::UniqueFd listening, Handler& handler,
               const os::Clock& clock, Limits limits, std::string hello, PeerOf peer_of,
               ConnectionId first)
    : io_(io),
      listening_(io, listening.release()),
      handler_(handler),
      clock_(clock),
      limits_(limits),
      hello_(std::move(hello)),
      peer_of_(std::move(peer_of)),
      last_id_(first.value - 1),
      timer_(io),
      accept_again_(io) {
  listening_.non_blocking(true);
  accept_soon();
}

Server::~Server() = default;

// Accepting.

void Server::accept_soon() {
  listening_.async_wait(stream_descriptor::wait_read, [this](const error_code& code) {
    if (!code) accept();
  });
}

void Server::accept() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    os::UniqueFd socket(
        ::accept4(listening_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      open(std::move(socket));
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) break;
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      // The connection stays in the backlog; at once it would only fail again.
      accept_again_.expires_after(std::chrono::milliseconds(100));
      accept_again_.async_wait([this](const error_code& code) {
        if (!code) accept_soon();
      });
      return;
    }
  }
  accept_soon();
}

void Server::open(os::UniqueFd socket) {
  const Result<os::Peer> peer = peer_of_(socket.get());
  if (!peer.ok()) return;  // It has closed already.
  const ConnectionId id{++last_id_};
  const Refuse over = over_limit(peer->user);
  const bool refused = over != Refuse::kNo;
  if (refused && connections_.size() - welcome_ >= kRefusedAtOnceMax) return;
  auto owned = std::make_unique<Connection>(io_, socket.release(), id, peer->user);
  Connection& connection = *owned;
  connections_.emplace(id, std::move(owned));
  connection.counted = !refused;
  switch (over) {
    case Refuse::kNo:
      ++welcome_;
      ++per_user_[peer->user].connections;
      set_deadline(connection, idle_deadline());
      handler_.opened(id, *peer);
      break;
    case Refuse::kAll:
      refuse(connection, wire::code::kTooManyConnections,
             fmt::format("{} connections are open, as many as berthd keeps with {} descriptors: "
                         "raise its limit (LimitNOFILE=, ulimit -n), or end some",
                         limits_.connections, limits_.descriptors));
      break;
    case Refuse::kUser:
      refuse(connection, wire::code::kTooMany,
             fmt::format("you have {} connections to berthd, as many as one user may have "
                         "([limits] connections)",
                         limits_.connections_per_user));
      break;
  }
  listen_to(connection);
}

Server::Refuse Server::over_limit(UserId user) const {
  if (welcome_ >= limits_.connections) return Refuse::kAll;
  const auto found = per_user_.find(user);
  const std::size_t own = found == per_user_.end() ? 0 : found->second.connections;
  return own >= limits_.connections_per_user ? Refuse::kUser : Refuse::kNo;
}

/// Answers whatever the client is about to ask, and closes.
void Server::refuse(Connection& connection, std::string_view code, std::string message) {
  connection.parser.reset();
  connection.in.clear();
  connection.state = State::kClosing;
  set_deadline(connection, Instant::never());
  write(connection, encode_answer({.status = wire::http_status(code),
                                   .body = wire::encode_error(
                                       {.code = std::string(code), .message = std::move(message)})},
                                  hello_, After::kCloses));
}

// Reading.

void Server::listen_to(Connection& connection) {
  if (connection.read_waits || connection.state == State::kDropped) return;
  if (connection.may_be_read()) {
    connection.read_waits = true;
    connection.socket.async_wait(stream_descriptor::wait_read,
                                 [this, id = connection.id](const error_code& code) {
                                   if (!code) readable(id);
                                 });
  } else if (!connection.hang_up_waits) {
    connection.hang_up_waits = true;
    connection.socket.async_wait(stream_descriptor::wait_error,
                                 [this, id = connection.id](const error_code& code) {
                                   if (!code) on_disconnect(id);
                                 });
  }
}

void Server::readable(ConnectionId id) {
  Connection* connection = find(id);
  if (connection == nullptr) return;
  connection->read_waits = false;
  const ssize_t count =
      ::recv(connection->socket.native_handle(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  const bool nothing = count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  if (count <= 0 && !nothing) return end_of_input(*connection);
  if (!nothing) take_bytes(*connection, {buffer_.data(), static_cast<std::size_t>(count)});
  listen_to(*connection);
}

/// Nobody is there any more. Where bytes are waited for, their end comes as well.
void Server::on_disconnect(ConnectionId id) {
  Connection* connection = find(id);
  if (connection == nullptr) return;
  connection->hang_up_waits = false;
  if (!connection->read_waits) end_of_input(*connection);
}

void Server::take_bytes(Connection& connection, std::string_view bytes) {
  if (connection.ends() || connection.state == State::kDropped) return;
  connection.in += bytes;
  parse(connection);
}

void Server::parse(Connection& connection) {
  const bool next = connection.state == State::kIdle && connection.untaken() == 0;
  if (!next && connection.state != State::kReading) return;
  while (!connection.in.empty()) {
    if (!connection.parser) connection.parser.emplace();
    const bool header_before = connection.parser->header_done();
    const Result<std::size_t> taken = connection.parser->put(connection.in);
    if (!taken.ok()) return refuse(connection, code_of(taken.error()), taken.error().message);
    connection.in.erase(0, *taken);
    if (connection.parser->done()) {
      connection.request = connection.parser->take();
      connection.parser.reset();
      connection.state = State::kQueued;
      connection.keep_alive = connection.request->keep_alive;
      connection.chunks = connection.request->chunks;
      set_deadline(connection, Instant::never());
      fair_queue_.add(connection.user, connection.id.value);
      dispatch_soon();
      break;
    }
    const bool header_now = connection.parser->header_done() && !header_before;
    if (header_now && connection.parser->expects_continue()) {
      write(connection, "HTTP/1.1 100 Continue\r\n\r\n");
    }
    if (header_now) set_deadline(connection, clock_.now() + limits_.body_within);
    if (connection.state == State::kIdle) {
      connection.state = State::kReading;
      if (!header_now) set_deadline(connection, clock_.now() + limits_.header_within);
    }
    if (*taken == 0) break;
  }
  if (connection.in.empty()) std::string().swap(connection.in);
}

void Server::end_of_input(Connection& connection) {
  // A client that closed only its sending side still has its request performed, and gets the answer
  // that is on its way. A client that waits for news is gone.
  connection.input_ended = true;
  if (connection.state == State::kQueued) return;
  if (connection.state == State::kClosing && connection.untaken() > 0) return;
  if (connection.state == State::kIdle && connection.untaken() > 0) {
    connection.state = State::kClosing;
    return;
  }
  drop_soon(connection);
}

// Answering.

void Server::dispatch_soon() {
  if (dispatching_ || fair_queue_.empty()) return;
  dispatching_ = true;
  boost::asio::post(io_, [this] { dispatch(); });
}

void Server::dispatch() {
  dispatching_ = false;
  const auto next =
      fair_queue_.next([this](UserId user) { return per_user_.at(user).untaken < kUntakenMax; });
  if (!next) return;  // Until a client has taken an answer.
  const ConnectionId id{*next};
  Connection* connection = find(id);
  CHECK(connection != nullptr && connection->state == State::kQueued);
  connection->state = State::kAnswering;
  std::optional<Request> request = std::exchange(connection->request, std::nullopt);
  CHECK(request.has_value());
  handler_.requested(id, *std::move(request));
  if (connection->input_ended) end_of_input(*connection);
  dispatch_soon();
}

// Writing.

void Server::answer(ConnectionId id, const Answer& answer) {
  Connection* connection = find(id);
  if (connection == nullptr || connection->state != State::kAnswering) return;
  const After after = connection->keep_alive ? After::kStays : After::kCloses;
  connection->state = connection->keep_alive ? State::kIdle : State::kClosing;
  write(*connection, encode_answer(answer, hello_, after));
  give_back(answer.body.size());
}

void Server::stream(ConnectionId id, std::string_view text) {
  Connection* connection = find(id);
  if (connection == nullptr || !connection->answers()) return;
  std::string bytes;
  if (connection->state == State::kAnswering) {
    CHECK(connection->chunks);
    connection->state = State::kStreaming;
    bytes = encode_stream_head(hello_);
  }
  bytes += encode_chunk(text);
  write(*connection, std::move(bytes));
}

void Server::end_stream(ConnectionId id) {
  Connection* connection = find(id);
  if (connection == nullptr || connection->state != State::kStreaming) return;
  connection->state = connection->keep_alive ? State::kIdle : State::kClosing;
  write(*connection, std::string(kLastChunk));
}

bool Server::drained(ConnectionId id) const {
  const Connection* connection = find(id);
  return connection == nullptr || connection->untaken() == 0;
}

void Server::write(Connection& connection, std::string text) {
  if (connection.state == State::kDropped) return;
  connection.out.put(std::move(text));
  count_untaken(connection);
  if (connection.write_waits && is_too_far_behind(connection)) return drop_soon(connection);
  if (connection.write_waits || connection.to_flush) return;
  connection.to_flush = true;
  to_flush_.push_back(connection.id);
}

void Server::flush() {
  // What is found out here may have more to say: that goes out in the same turn.
  while (!to_flush_.empty()) {
    for (const ConnectionId id : std::exchange(to_flush_, {})) {
      Connection* connection = find(id);
      if (connection == nullptr) continue;
      connection->to_flush = false;
      send_out(*connection);
    }
  }
}

void Server::send_out(Connection& connection) {
  if (connection.state == State::kDropped) return;
  const auto sent = send_some(connection.socket.native_handle(), connection.out.left());
  if (!sent) return drop_soon(connection);
  give_back(connection.out.took(*sent));
  count_untaken(connection);
  if (connection.untaken() == 0) return written(connection);
  const bool answered = connection.state == State::kIdle || connection.state == State::kClosing;
  if (answered && connection.deadline == Instant::never()) {
    set_deadline(connection, clock_.now() + limits_.taken_within);
  }
  if (is_too_far_behind(connection)) return drop_soon(connection);
  connection.write_waits = true;
  connection.socket.async_wait(stream_descriptor::wait_write,
                               [this, id = connection.id](const error_code& code) {
                                 Connection* found = code ? nullptr : find(id);
                                 if (found == nullptr) return;
                                 found->write_waits = false;
                                 send_out(*found);
                               });
}

/// All that was to be written is in the hands of the kernel.
void Server::written(Connection& connection) {
  if (connection.state == State::kIdle) {
    set_deadline(connection, idle_deadline());
    parse(connection);
    return listen_to(connection);
  }
  if (connection.state != State::kClosing) return;
  ::shutdown(connection.socket.native_handle(), SHUT_WR);
  connection.state = State::kLingering;
  set_deadline(connection, clock_.now() + kLingerFor);
}

bool Server::is_too_far_behind(const Connection& connection) const {
  if (connection.state != State::kStreaming) return false;
  const std::size_t own = connection.untaken();
  return own > kStreamBacklogMax ||
         (own > kStreamBacklogFree && per_user_.at(connection.user).behind > kUntakenMax);
}

/// What a stream keeps has its own bound, and keeps no answer back.
void Server::count_untaken(Connection& connection) {
  if (!connection.counted) return;
  const bool streams = connection.state == State::kStreaming;
  const std::size_t untaken = streams ? 0 : connection.untaken();
  const std::size_t behind = streams ? connection.untaken() : 0;
  OfUser& all = per_user_.at(connection.user);
  all.untaken += untaken - std::exchange(connection.untaken_counted, untaken);
  all.behind += behind - std::exchange(connection.behind_counted, behind);
  if (all.untaken < kUntakenMax) dispatch_soon();
}

/// The allocator keeps what was freed, for good; much of that is given back.
void Server::give_back(std::size_t bytes) {
  let_go_ += bytes;
  if (let_go_ < kGiveBackAt) return;
  let_go_ = 0;
  ::malloc_trim(0);
}

// Time, and the end.

void Server::set_deadline(Connection& connection, Instant at) {
  if (connection.deadline == at) return;
  deadlines_.erase({connection.deadline, connection.id});
  connection.deadline = at;
  if (at == Instant::never()) return;
  deadlines_.insert({at, connection.id});
  arm_timer();
}

Instant Server::idle_deadline() const {
  return limits_.idle_within ? clock_.now() + *limits_.idle_within : Instant::never();
}

void Server::arm_timer() {
  if (deadlines_.empty() || deadlines_.begin()->first >= armed_for_) return;
  armed_for_ = deadlines_.begin()->first;
  const Duration left = deadlines_.begin()->first - clock_.now();
  timer_.expires_after(std::chrono::nanoseconds(std::max<std::int64_t>(left.ns, 0)));
  timer_.async_wait([this](const error_code& code) {
    if (!code) expired();
  });
}

void Server::expired() {
  armed_for_ = Instant::never();
  const Instant now = clock_.now();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    Connection* connection = find(deadlines_.begin()->second);
    CHECK(connection != nullptr);
    set_deadline(*connection, Instant::never());
    expire(*connection);
  }
  arm_timer();
}

void Server::expire(Connection& connection) {
  if (connection.state != State::kReading) return drop_soon(connection);
  CHECK(connection.parser.has_value());
  refuse(connection, wire::code::kTimeout,
         connection.parser->header_done()
             ? "the body of the request did not come within " + to_text(limits_.body_within)
             : "the header of the request did not come within " + to_text(limits_.header_within));
}

Server::Connection* Server::find(ConnectionId id) const {
  const auto found = connections_.find(id);
  return found == connections_.end() ? nullptr : found->second.get();
}

/// Not at once: the handler may be in the middle of something.
void Server::drop_soon(Connection& connection) {
  if (connection.state == State::kDropped) return;
  if (connection.state == State::kQueued) fair_queue_.remove(connection.user, connection.id.value);
  connection.state = State::kDropped;
  set_deadline(connection, Instant::never());
  boost::asio::post(io_, [this, id = connection.id] { drop(id); });
}

void Server::drop(ConnectionId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = *found->second;
  std::size_t kept = connection.out.clear() + connection.in.capacity();
  if (connection.parser) kept += connection.parser->taken();
  if (connection.request) kept += connection.request->body.size();
  count_untaken(connection);
  const bool counted = connection.counted;
  const UserId user = connection.user;
  connections_.erase(found);
  give_back(kept);
  if (!counted) return;
  --welcome_;
  if (--per_user_.at(user).connections == 0) per_user_.erase(user);
  handler_.closed(id);
}

}  // namespace berth::http
