// SPDX-License-Identifier: Apache-2.0
#include "library/daemon.h"

#include <poll.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "base/quantity.h"
#include "os/clock.h"
#include "os/paths.h"
#include "os/processes.h"
#include "os/random.h"
#include "wire/error.h"
#include "wire/hello.h"
#include "wire/request.h"

namespace berth::library {
namespace {

constexpr Duration kAgainAfter = seconds(1);
// A request that does not wait is asked again for so long where its user asks too fast.
constexpr Duration kPacedAtLeast = seconds(10);

Error said_by_daemon(const client::Answer& answer) {
  const wire::ApiError error = wire::decode_error(answer.body);
  const wire::ExitCode code = wire::exit_code(error.code);
  Errc errc = Errc::kInvalid;
  if (code == wire::ExitCode::kTryLater) errc = Errc::kConflict;
  if (code == wire::ExitCode::kNoPermission) errc = Errc::kPermission;
  if (code == wire::ExitCode::kUnavailable) errc = Errc::kUnavailable;
  if (error.code == "not_found") errc = Errc::kNotFound;
  return {errc, error.message};
}

Result<wire::LeaseAnswer> lease_in(const Result<client::Answer>& answer) {
  if (!answer.ok()) return answer.error();
  if (!answer->ok()) return said_by_daemon(*answer);
  return wire::decode_lease(answer->body);
}

RequestBody request_of(const Acquisition& wish) {
  RequestBody body;
  body.request.name = wish.name;
  body.request.command = "libberth";
  body.request.vram = wish.vram;
  if (wish.vram == Bytes{}) body.request.share = Share::kExclusive;
  body.request.device_count = wish.devices;
  body.request.wait_max = wish.wait_max;
  body.request.eta = wish.eta;
  if (wish.grace) {
    body.request.checkpoint =
        CheckpointWay{.kind = CheckpointKind::kLibrary, .grace = *wish.grace, .every = {}};
  }
  return body;
}

// Reads the stream of a request up to its end: what became of it. `again`: asked so much later it
// may be granted.
Result<wire::LeaseAnswer> wait_for_grant(client::Connection& connection, Duration within,
                                         std::optional<Duration>& again) {
  const os::PosixClock clock;
  const Instant until = clock.now() + within;
  std::optional<wire::LeaseAnswer> last;
  while (true) {
    TRY(arrival, connection.wait(until - clock.now()));
    if (const auto* answer = std::get_if<client::Answer>(&arrival)) {
      if (!answer->ok()) again = wire::decode_error(answer->body).retry_after;
      return lease_in(*answer);  // Refused, or by a daemon that streams nothing.
    }
    const auto* event = std::get_if<wire::SseEvent>(&arrival);
    if (event == nullptr) break;
    if (parse_word<wire::EventName>(event->event) == wire::EventName::kWaiting) continue;
    TRY(lease, wire::decode_lease(event->data));
    last = std::move(lease);
  }
  if (!last) return Error{Errc::kUnavailable, "the daemon has ended"};
  if (last->view.state != LeaseState::kEnded) return *std::move(last);
  return Error{Errc::kConflict,
               last->refusal ? last->refusal->message : std::string("the request was withdrawn")};
}

// Whose user asks too fast asks again, a little later.
Result<wire::LeaseAnswer> submit(client::Connection& connection, const Acquisition& wish) {
  const client::HttpRequest question{.route = wire::Route::kSubmit, .body = request_of(wish)};
  const Duration within =
      wish.wait_max ? *wish.wait_max + client::Connection::kAnswerWithin : Duration::max();
  const os::PosixClock clock;
  const Instant give_up =
      wish.wait_max ? clock.now() + std::max(*wish.wait_max, kPacedAtLeast) : Instant::never();
  while (true) {
    TRY_STATUS(connection.send(question));
    std::optional<Duration> again;
    Result<wire::LeaseAnswer> granted = wait_for_grant(connection, within, again);
    if (granted.ok() || !again || clock.now() >= give_up) return granted;
    const std::int64_t wait_ms = std::min(*again, kPacedAtLeast).ns / milliseconds(1).ns;
    ::poll(nullptr, 0, static_cast<int>(wait_ms) + static_cast<int>(os::random_number() % 100));
  }
}

}  // namespace

Result<Daemon> Daemon::find() {
  TRY(paths, os::sockets_to_try(os::read_environment()));
  std::string tried;
  for (const std::string& path : paths) {
    const Result<os::UniqueFd> socket = client::connect_to(path, client::Backlog::kGiveUp);
    if (socket.ok()) return Daemon(path);
    tried += (tried.empty() ? "" : ", ") + path;
  }
  return Error{Errc::kUnavailable,
               "no daemon runs here (looked at " + tried + "); start one with: berth daemon start"};
}

Result<client::Connection> Daemon::connect(client::Backlog backlog) const {
  TRY(world, os::world_of(os::read_environment()));
  TRY(socket, client::connect_to(socket_, backlog));
  return client::Connection(
      std::move(socket),
      {.version = BERTH_VERSION, .world = std::move(world), .process = os::self()});
}

Result<wire::LeaseAnswer> Daemon::ask(wire::Route route, const std::string& lease,
                                      const AnyBody& body, Duration within) const {
  TRY(connection, connect(client::Backlog::kWait));
  return lease_in(connection.ask({.route = route, .lease = lease, .body = body}, within));
}

Result<std::optional<LeaseView>> Daemon::held(const std::string& lease, Duration within) const {
  const std::optional<LeaseView> over;
  TRY(connection, connect(client::Backlog::kGiveUp));
  const Result<client::Answer> answer =
      connection.ask({.route = wire::Route::kLease, .lease = lease, .body = {}}, within);
  if (!answer.ok() && answer.error().code == Errc::kConflict) return over;  // Of another world.
  if (!answer.ok()) return answer.error();
  if (answer->status == 404 || answer->status == 403) return over;
  TRY(found, lease_in(answer));
  const LeaseState state = found.view.state;
  if (state != LeaseState::kHeld && state != LeaseState::kSuspended) return over;
  return std::optional<LeaseView>(std::move(found.view));
}

// The connection that asks stays open until the claim: closed before, it would withdraw the
// request.
Result<wire::LeaseAnswer> Daemon::acquire(const Acquisition& wish) {
  TRY(connection, connect(client::Backlog::kWait));
  TRY(granted, submit(connection, wish));
  return ask(wire::Route::kClaim, to_text(granted.view.handle), ClaimBody{.command = os::self()});
}

std::optional<Ask> Asks::next(Duration within) {
  const os::PosixClock clock;
  const Instant until = clock.now() + within;
  while (true) {
    if (!asks_.empty()) {
      Ask ask = std::move(asks_.front());
      asks_.pop_front();
      return ask;
    }
    const Instant now = clock.now();
    if (!connection_ && !listen(now)) {
      // Nobody is there: until it is time to look again, or the caller has waited enough.
      const Duration left = std::min(until, again_at_) - now;
      if (until <= now) return std::nullopt;
      ::poll(nullptr, 0, static_cast<int>(left.ns / milliseconds(1).ns + 1));
      continue;
    }
    const Result<std::optional<client::Arrival>> received = checked(connection_).receive();
    if (!received.ok()) {
      connection_.reset();
      continue;
    }
    const std::optional<client::Arrival>& arrival = *received;
    if (arrival) {
      if (const auto* event = std::get_if<wire::SseEvent>(&*arrival)) {
        take(*event);
      } else {
        connection_.reset();  // The lease has ended, or the daemon does not know it.
        again_at_ = clock.now() + kAgainAfter;
      }
      continue;
    }
    if (until <= now) return std::nullopt;
    const std::int64_t left_ms = std::min(until - now, hours(1)).ns / milliseconds(1).ns + 1;
    pollfd wanted{.fd = checked(connection_).descriptor(), .events = POLLIN, .revents = 0};
    ::poll(&wanted, 1, static_cast<int>(left_ms));
  }
}

bool Asks::listen(Instant now) {
  if (now < again_at_) return false;
  again_at_ = now + kAgainAfter;
  Result<client::Connection> connection = daemon_.connect(client::Backlog::kGiveUp);
  if (!connection.ok()) return false;
  connection_ = *std::move(connection);
  const Status sent =
      connection_->send({.route = wire::Route::kLeaseEvents, .lease = lease_, .body = {}});
  if (!sent.ok()) connection_.reset();
  return connection_.has_value();
}

// Each event shows the lease as it is, so what was missed is seen in the next one.
void Asks::take(const wire::SseEvent& event) {
  const std::optional<wire::EventName> name = parse_word<wire::EventName>(event.event);
  const Result<wire::LeaseAnswer> lease = wire::decode_lease(event.data);
  if (!name || !lease.ok()) return;
  const LeaseView& view = lease->view;
  const std::optional<CheckpointWay>& way = view.request.checkpoint;
  const bool ours = way && way->kind == CheckpointKind::kLibrary;
  if (const auto& asked = view.checkpoints.asked; ours && asked && asked->number > saves_asked_) {
    saves_asked_ = asked->number;
    asks_.push_back({.kind = Ask::Kind::kCheckpoint,
                     .number = asked->number,
                     .reason = std::string(to_text(asked->reason)),
                     .within = way->grace});
  }
  if (view.pressure == Pressure::kCritical && pressure_ != Pressure::kCritical) {
    asks_.push_back({.kind = Ask::Kind::kCleanup, .number = 0, .reason = "pressure", .within = {}});
  }
  pressure_ = view.pressure;
  for (const MeasureTaken& taken : view.measures) {
    const bool is_new = taken.measure == Measure::kCleanup && !taken.outcome;
    if (!ours || !is_new || taken.number <= cleanups_asked_) continue;
    cleanups_asked_ = taken.number;
    asks_.push_back({.kind = Ask::Kind::kCleanup,
                     .number = 0,
                     .reason = std::string(to_text(taken.cause)),
                     .within = {}});
  }
  if (name == wire::EventName::kRevoked) {
    const auto result = view.result ? std::string(to_text(*view.result)) : std::string("revoked");
    asks_.push_back({.kind = Ask::Kind::kRelease, .number = 0, .reason = result, .within = {}});
  }
}

}  // namespace berth::library
