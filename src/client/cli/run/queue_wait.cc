// SPDX-License-Identifier: Apache-2.0
#include "cli/run/queue_wait.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "base/checked.h"
#include "cli/exit_status.h"
#include "cli/render/phrases.h"
#include "cli/render/waiting_line.h"
#include "cli/supervise/death.h"
#include "os/clock.h"
#include "os/random.h"
#include "wire/answers.h"
#include "wire/error.h"

namespace berth::cli {
namespace {

using wire::EventName;

// So often nobody may listen before a new daemon is started: it may be one that restarts.
constexpr std::size_t kTriesBeforeStart = 2;

// A request that does not wait is asked again for so long where its user asks too fast.
constexpr Duration kPacedAtLeast = seconds(10);

int milliseconds_until(std::optional<Instant> at, Instant now) {
  if (!at) return -1;
  return static_cast<int>(std::max<std::int64_t>((*at - now).ns, 0) / milliseconds(1).ns + 1);
}

}  // namespace

QueueWait::QueueWait(Ports ports, RequestBody request)
    : ports_(ports), request_(std::move(request)) {}

std::variant<QueueWait::Granted, ExitOutcome> QueueWait::wait() {
  while (true) {
    if (Outcome outcome = step()) {
      ports_.console.clear();
      return *std::move(outcome);
    }
  }
}

Result<wire::LeaseAnswer> QueueWait::granted() const {
  return wire::decode_lease(checked(last_).lease);
}

void QueueWait::adopt(Handle handle, std::uint32_t restarts) {
  handle_ = handle;
  restarts_ = restarts;
  adopted_ = true;
}

std::variant<LeaseView, ExitOutcome> QueueWait::wait_until_queued() {
  tells_why_ = false;
  while (!id_) {
    const Outcome outcome = step();
    if (outcome && !id_) return std::get<ExitOutcome>(*outcome);
  }
  ports_.console.clear();
  Result<wire::LeaseAnswer> lease = granted();
  if (!lease.ok()) return fail(ExitCode::kVersion, lease.error().message);
  return std::move(lease->view);
}

void QueueWait::begin() {
  if (!asked_ && !reconnect_at_) ask();
}

// Waits for one thing that happens.
QueueWait::Outcome QueueWait::step() {
  begin();
  const os::PosixClock clock;
  const int connection = asked_ ? ports_.client.connection().descriptor() : -1;
  std::array<pollfd, 2> wanted = {pollfd{ports_.signals.descriptor(), POLLIN, 0},
                                  pollfd{connection, POLLIN, 0}};
  ::poll(wanted.data(), wanted.size(), milliseconds_until(reconnect_at_, clock.now()));
  if (Outcome outcome = handle_signals()) return outcome;
  if (reconnect_at_) return reconnect_daemon(clock.now());
  return wanted[1].revents != 0 ? receive() : std::nullopt;
}

// The first write in a new connection is the handle: an answer that was lost is given again.
void QueueWait::ask() {
  client::HttpRequest question{.route = wire::Route::kSubmit, .lease = {}, .body = request_};
  if (handle_) {
    question = {.route = wire::Route::kReconnect,
                .lease = to_text(*handle_),
                .body = ReconnectBody{.restarts = restarts_}};
  }
  asked_ = true;
  last_.reset();
  // What fails here fails again when the answer is read, and is handled there.
  const Status sent = ports_.client.connection().send(question);
  if (!sent.ok()) static_cast<void>(lost_connection(sent.error()));
}

QueueWait::Outcome QueueWait::handle_signals() {
  while (const std::optional<os::SignalSeen> seen = ports_.signals.read()) {
    switch (seen->signal) {
      case SIGINT:
      case SIGQUIT:
      case SIGTERM:
      case SIGHUP:
        // The end of the connection withdraws the request.
        ports_.console.say(id_ ? "left the queue" : "interrupted");
        return ExitOutcome{.code = 128 + seen->signal, .signal = seen->signal};
      case SIGTSTP:
        set_aside();
        break;
      case SIGCONT:
        park(false);
        break;
      default:
        break;
    }
  }
  return std::nullopt;
}

// Stopped, it could not take up a grant: others go first, and it keeps its place for later.
void QueueWait::set_aside() {
  park(true);
  ports_.console.clear();
  stop_as_by_terminal();
  park(false);
}

void QueueWait::park(bool parked) {
  if (!handle_) return;
  // The first connection listens; what fails here is mended by the claim, which would come too
  // late.
  Result<client::Connection> connection = ports_.client.another();
  if (!connection.ok()) return;
  static_cast<void>(connection->ask({.route = wire::Route::kPark,
                                     .lease = to_text(*handle_),
                                     .body = ParkBody{.parked = parked}}));
}

QueueWait::Outcome QueueWait::receive() {
  while (asked_) {
    const Result<std::optional<client::Arrival>> received = ports_.client.connection().receive();
    if (!received.ok()) return lost_connection(received.error());
    const std::optional<client::Arrival>& arrival = *received;
    if (!arrival) return std::nullopt;
    Outcome outcome;
    if (const auto* event = std::get_if<wire::SseEvent>(&*arrival)) {
      outcome = take(*event);
    } else if (const auto* answer = std::get_if<client::Answer>(&*arrival)) {
      outcome = refused(*answer);
    } else {
      outcome = stream_ended();
    }
    if (outcome) return outcome;
  }
  return std::nullopt;
}

QueueWait::Outcome QueueWait::take(const wire::SseEvent& event) {
  const std::optional<EventName> name = parse_word<wire::EventName>(event.event);
  if (name == EventName::kWaiting) {
    if (tells_why_) show(event);
    return std::nullopt;
  }
  if (!name) return std::nullopt;  // Of a newer daemon.
  if (!id_) {
    const Result<wire::LeaseAnswer> lease = wire::decode_lease(event.data);
    if (!lease.ok()) return fail(ExitCode::kVersion, lease.error().message);
    ports_.status.queued(lease->view.id);
    handle_ = lease->view.handle;
    id_ = lease->view.id;
  }
  tries_ = 0;
  too_fast_since_.reset();
  too_fast_ = 0;
  last_ = Told{*name, event.data};
  return std::nullopt;
}

// The last thing told before the end is what became of the request. Only now may the connection be
// asked again.
QueueWait::Outcome QueueWait::stream_ended() {
  asked_ = false;
  if (!last_) return lost_connection({Errc::kUnavailable, ""});
  if (last_->event == EventName::kGranted) return Granted{};
  const Result<wire::LeaseAnswer> lease = granted();
  if (!lease.ok()) return fail(ExitCode::kVersion, lease.error().message);
  if (lease->view.state == LeaseState::kWaiting || comes_back(lease->view)) {
    return lost_connection({Errc::kUnavailable, ""});  // It was told nothing: ask again, later.
  }
  if (lease->view.state != LeaseState::kEnded) return Granted{};
  if (const auto& refusal = lease->refusal) {
    const std::string who = by_whom(lease->view.ended_by, ports_.console.context());
    return fail(wire::error_of(refusal->code, refusal->message + (who.empty() ? "" : "," + who)));
  }
  return fail(ExitCode::kTryLater,
              "request " + to_text(checked(id_)) + " ended: " + result_of(lease->view));
}

void QueueWait::show(const wire::SseEvent& event) {
  const Result<wire::NamedWhy> why = wire::decode_why(event.data);
  if (!why.ok()) return;
  RenderContext context = ports_.console.context();
  context.user_name = [&why](UserId user) {
    const auto found = why->names.find(user);
    return found == why->names.end() ? std::to_string(user.value) : found->second;
  };
  const auto& daemon = ports_.client.connection().daemon();
  context.simulated = daemon && daemon->simulated;
  ports_.console.update(waiting_lines(request_.request, why->why, context));
}

QueueWait::Outcome QueueWait::refused(const client::Answer& answer) {
  asked_ = false;
  const wire::ApiError error = wire::decode_error(answer.body);
  if (handle_ && !adopted_ && error.code == to_text(RefusalCode::kNotFound)) {
    ports_.console.say("the daemon does not know request " + to_text(checked(id_)) +
                       " any more; asking again");
    handle_.reset();
    id_.reset();
    restarts_ = 0;
    return std::nullopt;
  }
  if (asks_again(error)) return std::nullopt;
  return fail(error);
}

// Who starts a thousand of them in one moment gets a thousand, a little later. They do not all come
// back in the same moment.
bool QueueWait::asks_again(const wire::ApiError& error) {
  if (error.code != wire::code::kTooFast || !error.retry_after) return false;
  const Instant now = os::PosixClock().now();
  if (!too_fast_since_) too_fast_since_ = now;
  const std::optional<Duration>& wait_max = request_.request.wait_max;
  const bool too_long = wait_max && now - *too_fast_since_ > std::max(*wait_max, kPacedAtLeast);
  if (too_long) return false;
  const std::uint64_t spread_ms = std::uint64_t{20} << std::min(too_fast_++, 6U);
  reconnect_at_ = now + std::min(*error.retry_after, seconds(10)) +
                  milliseconds(static_cast<std::int64_t>(os::random_number() % spread_ms));
  ports_.console.update("you ask for leases faster than one user may; asking again");
  return true;
}

QueueWait::Outcome QueueWait::lost_connection(const Error& error) {
  asked_ = false;
  if (error.code != Errc::kUnavailable && error.code != Errc::kTimedOut) {
    return fail(client::exit_status_of(error), error.message);
  }
  if (!reconnect_at_) ports_.console.update("the daemon is gone; waiting for it to come back");
  reconnect_at_ = os::PosixClock().now() + client::reconnect_pause();
  return std::nullopt;
}

// A daemon that was stopped takes its socket away, and is waited for. One that died leaves it:
// after some tries another one is started, as by any caller who finds none.
QueueWait::Outcome QueueWait::reconnect_daemon(Instant now) {
  if (now < checked(reconnect_at_)) return std::nullopt;
  reconnect_at_.reset();
  ++tries_;
  Status connected = ports_.client.reconnect();
  const bool died = !connected.ok() && connected.error().code == Errc::kUnavailable;
  if (died && tries_ > kTriesBeforeStart &&
      ports_.options.autostart == client::Autostart::kIfNeeded) {
    Result<client::Client> started = client::Client::connect(ports_.options);
    if (!started.ok())
      return fail(client::exit_status_of(started.error()), started.error().message);
    ports_.client = *std::move(started);
    connected = Unit{};
  }
  if (connected.ok()) return std::nullopt;
  if (connected.error().code == Errc::kNotFound) return lost_connection({Errc::kUnavailable, ""});
  return lost_connection(connected.error());
}

std::variant<std::optional<wire::LeaseAnswer>, ExitOutcome> QueueWait::claim(
    const Process& command, const std::function<void()>& meanwhile) {
  CHECK(handle_.has_value());
  const client::HttpRequest question{.route = wire::Route::kClaim,
                                     .lease = to_text(*handle_),
                                     .body = ClaimBody{.command = command, .restarts = restarts_}};
  const Status sent = ports_.client.connection().begin(question);
  meanwhile();
  Result<client::Answer> answer =
      sent.ok() ? ports_.client.connection().finish() : Result<client::Answer>(sent.error());
  while (!answer.ok()) {
    // The daemon is gone: once it is back it tells again that the request is granted, and the claim
    // is made again, by the same process.
    if (Outcome left = lost_connection(answer.error())) return std::get<ExitOutcome>(*left);
    const std::variant<Granted, ExitOutcome> again = wait();
    if (const ExitOutcome* left = std::get_if<ExitOutcome>(&again)) return *left;
    answer = ports_.client.connection().ask(question);
  }
  if (answer->ok()) {
    Result<wire::LeaseAnswer> lease = wire::decode_lease(answer->body);
    if (lease.ok()) return std::optional(*std::move(lease));
    return fail(ExitCode::kVersion, lease.error().message);
  }
  const wire::ApiError error = wire::decode_error(answer->body);
  if (error.code != to_text(RefusalCode::kWrongState)) return fail(error);
  park(false);
  return std::optional<wire::LeaseAnswer>();
}

// In a new connection: the old one listens to the news of the lease.
void QueueWait::wait_again(std::uint32_t restarts) {
  restarts_ = restarts;
  asked_ = false;
  last_.reset();
  reconnect_at_ = Instant{};
  ports_.status.queued(checked(id_));
}

ExitOutcome QueueWait::fail(ExitCode code, const std::string& sentence) {
  ports_.console.complain(sentence);
  return {.code = to_status(code), .error = wire::error_of(wire::error_word(code), sentence)};
}

ExitOutcome QueueWait::fail(const wire::ApiError& error) {
  if (!error.lease) ports_.console.complain(error.message);
  return {.code = to_status(wire::exit_code(error.code)), .error = error};
}

}  // namespace berth::cli
