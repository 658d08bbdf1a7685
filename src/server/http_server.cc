// SPDX-License-Identifier: Apache-2.0
#include "server/http_server.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <chrono>
#include <optional>

#include "base/check.h"
#include "base/quantity.h"
#include "server/http_parser.h"

namespace berth::server {
namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

constexpr int kAcceptsPerTurn = 64;
constexpr int kReadsPerTurn = 4;

enum class State : std::uint8_t {
  kIdle,       // No request is under way.
  kReading,    // A part of one has come.
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

struct HttpServer::Connection {
  Connection(boost::asio::io_context& io, int fd, ConnectionId number, UserId owner)
      : socket(io, fd), id(number), user(owner) {}

  bool answers() const { return state == State::kAnswering || state == State::kStreaming; }

  stream_descriptor socket;
  const ConnectionId id;
  const UserId user;
  State state = State::kIdle;
  bool keep_alive = true;
  bool chunks = true;
  bool to_flush = false;     // It has something to write at the end of this turn,
  bool write_waits = false;  // or when the kernel takes more.
  bool input_ended = false;
  bool counted = true;               // In per_user_, and known to the handler.
  std::optional<HttpParser> parser;  // Of kReading.
  std::string in;                    // Came, and is not parsed yet.
  std::string out;                   // To be written,
  std::size_t out_done = 0;          // but for so much of it.
  Instant deadline = Instant::never();
};

HttpServer::HttpServer(boost::asio::io_context& io, os::UniqueFd listening,
                       ConnectionHandler& handler, const os::Clock& clock, HttpLimits limits,
                       std::string hello)
    : io_(io),
      listening_(io, listening.release()),
      handler_(handler),
      clock_(clock),
      limits_(limits),
      hello_(std::move(hello)),
      timer_(io),
      accept_again_(io) {
  listening_.non_blocking(true);
  accept_soon();
}

HttpServer::~HttpServer() = default;

// Accepting.

void HttpServer::accept_soon() {
  listening_.async_wait(stream_descriptor::wait_read, [this](const error_code& code) {
    if (!code) accept();
  });
}

void HttpServer::accept() {
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

void HttpServer::open(os::UniqueFd socket) {
  const Result<os::Peer> peer = os::peer_of(socket.get());
  if (!peer.ok()) return;  // It has closed already.
  const ConnectionId id{++last_id_};
  const Refuse over = over_limit(peer->user);
  const bool refused = over != Refuse::kNo;
  if (refused && connections_.size() - welcome_ >= kRefusedAtOnceMax) return;
  auto owned = std::make_unique<Connection>(io_, socket.release(), id, peer->user);
  Connection& connection = *owned;
  connections_.emplace(id, std::move(owned));
  connection.counted = !refused;
  read_soon(connection);
  switch (over) {
    case Refuse::kNo:
      ++welcome_;
      ++per_user_[peer->user];
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
}

HttpServer::Refuse HttpServer::over_limit(UserId user) const {
  if (welcome_ >= limits_.connections) return Refuse::kAll;
  const auto found = per_user_.find(user);
  const std::size_t own = found == per_user_.end() ? 0 : found->second;
  return own >= limits_.connections_per_user ? Refuse::kUser : Refuse::kNo;
}

/// Answers whatever the client is about to ask, and closes.
void HttpServer::refuse(Connection& connection, std::string_view code, std::string message) {
  connection.parser.reset();
  connection.state = State::kClosing;
  write(connection,
        encode_answer(
            {.status = wire::http_status(code),
             .body = wire::encode_error({.code = std::string(code), .message = std::move(message)}),
             .close = true},
            hello_));
}

// Reading.

void HttpServer::read_soon(Connection& connection) {
  connection.socket.async_wait(stream_descriptor::wait_read,
                               [this, id = connection.id](const error_code& code) {
                                 if (!code) readable(id);
                               });
}

void HttpServer::readable(ConnectionId id) {
  Connection* connection = find(id);
  if (connection == nullptr) return;
  for (int i = 0; i < kReadsPerTurn; ++i) {
    const ssize_t count =
        ::recv(connection->socket.native_handle(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) break;
    if (count <= 0) return end_of_input(*connection);
    if (!take_bytes(*connection, {buffer_.data(), static_cast<std::size_t>(count)})) return;
  }
  read_soon(*connection);
}

/// False: the connection is at its end.
bool HttpServer::take_bytes(Connection& connection, std::string_view bytes) {
  if (connection.state == State::kClosing || connection.state == State::kLingering) return true;
  if (connection.state == State::kDropped) return false;
  connection.in += bytes;
  if (!connection.answers()) {
    parse(connection);
  } else if (connection.in.size() > kPipelinedMax) {
    drop_soon(connection);
    return false;
  }
  return true;
}

void HttpServer::parse(Connection& connection) {
  while (!connection.in.empty() &&
         (connection.state == State::kIdle || connection.state == State::kReading)) {
    if (!connection.parser) connection.parser.emplace();
    const bool header_before = connection.parser->header_done();
    const Result<std::size_t> taken = connection.parser->put(connection.in);
    if (!taken.ok()) {
      const bool large = taken.error().code == Errc::kFull;
      return refuse(connection, large ? wire::code::kTooLarge : wire::code::kBadRequest,
                    taken.error().message);
    }
    connection.in.erase(0, *taken);
    if (connection.parser->done()) {
      HttpRequest request = connection.parser->take();
      connection.parser.reset();
      connection.state = State::kAnswering;
      connection.keep_alive = request.keep_alive;
      connection.chunks = request.chunks;
      set_deadline(connection, Instant::never());
      handler_.requested(connection.id, std::move(request));
      continue;
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

void HttpServer::end_of_input(Connection& connection) {
  // A client that closed only its sending side still gets the answer that is on its way. Whoever
  // waits for news is gone.
  if (connection.state == State::kClosing && connection.out_done < connection.out.size()) return;
  if (connection.state == State::kIdle && connection.out_done < connection.out.size()) {
    connection.state = State::kClosing;
    return;
  }
  drop_soon(connection);
}

/// The answer is given: the next request may be looked at.
void HttpServer::free_for_next(Connection& connection) {
  connection.state = State::kIdle;
  if (connection.in.empty()) return;
  boost::asio::post(io_, [this, id = connection.id] {
    if (Connection* found = find(id); found != nullptr) parse(*found);
  });
}

// Writing.

void HttpServer::answer(ConnectionId id, const HttpAnswer& answer) {
  Connection* connection = find(id);
  if (connection == nullptr || connection->state != State::kAnswering) return;
  HttpAnswer sent = answer;
  sent.close = answer.close || !connection->keep_alive;
  if (sent.close) {
    connection->state = State::kClosing;
  } else {
    free_for_next(*connection);
  }
  write(*connection, encode_answer(sent, hello_));
}

void HttpServer::stream(ConnectionId id, std::string_view text) {
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

void HttpServer::end_stream(ConnectionId id) {
  Connection* connection = find(id);
  if (connection == nullptr || connection->state != State::kStreaming) return;
  if (connection->keep_alive) {
    free_for_next(*connection);
  } else {
    connection->state = State::kClosing;
  }
  write(*connection, std::string(kLastChunk));
}

bool HttpServer::drained(ConnectionId id) const {
  const Connection* connection = find(id);
  return connection == nullptr || connection->out_done == connection->out.size();
}

void HttpServer::write(Connection& connection, std::string text) {
  if (connection.state == State::kDropped) return;
  if (connection.out.empty()) {
    connection.out = std::move(text);
  } else {
    connection.out += text;
  }
  if (connection.write_waits || connection.to_flush) return;
  connection.to_flush = true;
  to_flush_.push_back(connection.id);
}

void HttpServer::flush() {
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

void HttpServer::send_out(Connection& connection) {
  if (connection.state == State::kDropped) return;
  const std::string_view left = std::string_view(connection.out).substr(connection.out_done);
  const auto sent = send_some(connection.socket.native_handle(), left);
  if (!sent) return drop_soon(connection);
  connection.out_done += *sent;
  if (connection.out_done == connection.out.size()) {
    std::string().swap(connection.out);
    connection.out_done = 0;
    return written(connection);
  }
  const bool answers = connection.state == State::kIdle || connection.state == State::kClosing;
  if (answers) set_deadline(connection, clock_.now() + limits_.taken_within);
  const bool stream = connection.state == State::kStreaming;
  if (stream && connection.out.size() - connection.out_done > kStreamBacklogMax) {
    return drop_soon(connection);
  }
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
void HttpServer::written(Connection& connection) {
  if (connection.state == State::kIdle) set_deadline(connection, Instant::never());
  if (connection.state != State::kClosing) return;
  ::shutdown(connection.socket.native_handle(), SHUT_WR);
  connection.state = State::kLingering;
  set_deadline(connection, clock_.now() + kLingerFor);
}

// Time, and the end.

void HttpServer::set_deadline(Connection& connection, Instant at) {
  if (connection.deadline == at) return;
  deadlines_.erase({connection.deadline, connection.id});
  connection.deadline = at;
  if (at == Instant::never()) return;
  deadlines_.insert({at, connection.id});
  arm_timer();
}

void HttpServer::arm_timer() {
  if (deadlines_.empty() || deadlines_.begin()->first >= armed_for_) return;
  armed_for_ = deadlines_.begin()->first;
  const Duration left = deadlines_.begin()->first - clock_.now();
  timer_.expires_after(std::chrono::nanoseconds(std::max<std::int64_t>(left.ns, 0)));
  timer_.async_wait([this](const error_code& code) {
    if (!code) expired();
  });
}

void HttpServer::expired() {
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

void HttpServer::expire(Connection& connection) {
  if (connection.state != State::kReading) return drop_soon(connection);
  CHECK(connection.parser.has_value());
  refuse(connection, wire::code::kTimeout,
         connection.parser->header_done()
             ? "the body of the request did not come within " + to_text(limits_.body_within)
             : "the header of the request did not come within " + to_text(limits_.header_within));
}

HttpServer::Connection* HttpServer::find(ConnectionId id) const {
  const auto found = connections_.find(id);
  return found == connections_.end() ? nullptr : found->second.get();
}

/// Not at once: the handler may be in the middle of something.
void HttpServer::drop_soon(Connection& connection) {
  if (connection.state == State::kDropped) return;
  connection.state = State::kDropped;
  set_deadline(connection, Instant::never());
  boost::asio::post(io_, [this, id = connection.id] { drop(id); });
}

void HttpServer::drop(ConnectionId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  const bool counted = found->second->counted;
  const UserId user = found->second->user;
  connections_.erase(found);
  if (!counted) return;
  --welcome_;
  if (--per_user_.at(user) == 0) per_user_.erase(user);
  handler_.closed(id);
}

}  // namespace berth::server
