// SPDX-License-Identifier: Apache-2.0
// Requests of the library to the daemon, and of the daemon to the program through it. Nothing of
// it starts a daemon: that forks, which only a program with one thread may. One thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "client/connection.h"
#include "client/socket.h"
#include "model/checkpoint.h"
#include "model/lease.h"
#include "wire/lease.h"
#include "wire/routes.h"
#include "wire/sse.h"

namespace berth::library {

/// How the program would have its own lease.
struct Acquisition {
  Bytes vram;
  std::uint32_t devices = 1;
  std::optional<Duration> wait_max;  // Absent: without bound.
  std::optional<Duration> eta;
  std::optional<Duration> grace;  // It can be asked to save itself, within that.
  std::string name;
};

class Daemon {
 public:
  /// The one of BERTH_SOCKET, or where clients look. kUnavailable: none answers.
  static Result<Daemon> find();
  /// The one of that socket, which is not looked at here.
  static Daemon at(const std::string& socket) { return Daemon(socket); }

  /// Waits for the grant, and claims it for this process.
  Result<wire::LeaseAnswer> acquire(const Acquisition& wish);
  /// A question about the lease; its answer, or what the daemon has said against it.
  Result<wire::LeaseAnswer> ask(wire::Route route, const std::string& lease,
                                const AnyBody& body = {},
                                Duration within = client::Connection::kAnswerWithin) const;

  /// The lease, if programs may work in it: held, and known in this world. Absent: it is over. An
  /// error: nobody can say.
  Result<std::optional<LeaseView>> held(const std::string& lease, Duration within) const;

  const std::string& socket() const { return socket_; }
  Result<client::Connection> connect(client::Backlog backlog) const;

 private:
  explicit Daemon(std::string socket) : socket_(std::move(socket)) {}
  std::string socket_;
};

/// What the program is asked to do.
struct Ask {
  enum class Kind : std::uint8_t { kCleanup, kCheckpoint, kRelease };
  Kind kind = Kind::kCheckpoint;
  std::uint64_t number = 0;  // Of a save.
  std::string reason;
  std::optional<Duration> within;
};

/// Listens for what the daemon asks of one lease. When the daemon is away it comes back each
/// second, and what was asked meanwhile is asked again then.
class Asks {
 public:
  Asks(Daemon daemon, std::string lease) : daemon_(std::move(daemon)), lease_(std::move(lease)) {}

  /// The next, waiting `within` for it. Absent: there was none.
  std::optional<Ask> next(Duration within);
  const Daemon& daemon() const { return daemon_; }
  const std::string& lease() const { return lease_; }

 private:
  bool listen(Instant now);
  void take(const wire::SseEvent& event);

  Daemon daemon_;
  std::string lease_;
  std::optional<client::Connection> connection_;
  Instant again_at_;
  std::uint64_t saves_asked_ = 0;     // The number of the last.
  std::uint64_t cleanups_asked_ = 0;  // Likewise, of the measure.
  Pressure pressure_ = Pressure::kNormal;
  std::deque<Ask> asks_;
};

}  // namespace berth::library
