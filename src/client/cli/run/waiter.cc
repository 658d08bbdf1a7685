// SPDX-License-Identifier: Apache-2.0
#include "cli/run/waiter.h"

#include <poll.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "cli/lease_words.h"
#include "os/clock.h"
#include "wire/answers.h"
#include "wire/exit_status.h"
#include "wire/lease.h"
#include "wire/sse.h"

namespace berth::cli {
namespace {

bool is_reached(const Waiter::Goal& goal) {
  const auto reached = [&goal](const LeaseView& lease) { return has_reached(lease, goal.state); };
  return goal.quorum == Waiter::Quorum::kAny ? std::ranges::any_of(goal.leases, reached)
                                             : std::ranges::all_of(goal.leases, reached);
}

// One that has ended can reach no other state.
bool is_out_of_reach(const Waiter::Goal& goal) {
  const auto lost = [&goal](const LeaseView& lease) {
    return lease.state == LeaseState::kEnded && !has_reached(lease, goal.state);
  };
  return goal.quorum == Waiter::Quorum::kAny ? std::ranges::all_of(goal.leases, lost)
                                             : std::ranges::any_of(goal.leases, lost);
}

}  // namespace

bool has_reached(const LeaseView& lease, LeaseState state) {
  switch (state) {
    case LeaseState::kWaiting:
      return true;
    case LeaseState::kHeld:
      return lease.started_at.has_value();
    case LeaseState::kSuspended:
      return lease.state == LeaseState::kSuspended;
    case LeaseState::kReleasing:
      return lease.started_at &&
             (lease.state == LeaseState::kReleasing || lease.state == LeaseState::kEnded);
    case LeaseState::kEnded:
      return lease.state == LeaseState::kEnded;
  }
  CHECK(false);
  return false;
}

int exit_status_of(const LeaseView& lease) {
  if (lease.result == EndResult::kLimit) return static_cast<int>(wire::ExitCode::kTimeLimit);
  if (lease.exit) return lease.exit->signal != 0 ? 128 + lease.exit->signal : lease.exit->code;
  const bool well = lease.result == EndResult::kOk;
  return static_cast<int>(well ? wire::ExitCode::kOk : wire::ExitCode::kFailed);
}

// The news of all leases are listened to, in one stream for any number; what has happened before
// that is asked afterwards, so that nothing falls in between.
Result<std::vector<LeaseView>> Waiter::wait_for(Goal goal) {
  bool listening = false;
  while (true) {
    if (!listening) {
      TRY_STATUS(begin({.route = wire::Route::kEvents}));
      const Status fresh = refresh(goal.leases);
      listening = fresh.ok();
      if (!listening) TRY_STATUS(reconnect_daemon(fresh.error()));
      if (!listening) continue;
    }
    if (is_reached(goal) || is_out_of_reach(goal)) return std::move(goal.leases);
    Result<client::Arrival> arrival = next();
    if (!arrival.ok()) {
      TRY_STATUS(reconnect_daemon(arrival.error()));
      listening = false;
      continue;
    }
    const auto* event = std::get_if<wire::SseEvent>(&*arrival);
    if (event == nullptr) {
      if (const auto* answer = std::get_if<client::Answer>(&*arrival)) {
        refusal_ = wire::decode_error(answer->body);
        return Error{Errc::kInvalid, refusal_->message};
      }
      listening = false;
      continue;
    }
    Result<wire::LeaseAnswer> told = wire::decode_lease(event->data);
    if (!told.ok()) continue;
    const auto lease = std::ranges::find(goal.leases, told->view.id, &LeaseView::id);
    if (lease != goal.leases.end()) *lease = std::move(told->view);
  }
}

Result<FitView> Waiter::wait_for_fit(const RequestBody& request) {
  const client::HttpRequest question{.route = wire::Route::kFit, .lease = {}, .body = request};
  bool listening = false;
  while (true) {
    if (!std::exchange(listening, true)) TRY_STATUS(begin(question));
    Result<client::Arrival> arrival = next();
    if (!arrival.ok()) {
      TRY_STATUS(reconnect_daemon(arrival.error()));
      listening = false;
      continue;
    }
    if (const auto* answer = std::get_if<client::Answer>(&*arrival)) {
      refusal_ = wire::decode_error(answer->body);
      return Error{Errc::kInvalid, refusal_->message};
    }
    const auto* event = std::get_if<wire::SseEvent>(&*arrival);
    listening = event != nullptr;
    if (event == nullptr) continue;
    TRY(fit, wire::decode_fit(event->data));
    if (fit.fits) return fit;
  }
}

Status Waiter::begin(const client::HttpRequest& question) {
  while (true) {
    Status sent = client_.connection().send(question);
    if (sent.ok()) return sent;
    TRY_STATUS(reconnect_daemon(sent.error()));
  }
}

Status Waiter::refresh(std::vector<LeaseView>& leases) {
  TRY(connection, client_.another());
  for (LeaseView& lease : leases) {
    TRY(answer, connection.ask({.route = wire::Route::kLease, .lease = reference_to(lease)}));
    if (!answer.ok()) continue;  // Forgotten since: it stays as it was known.
    TRY(told, wire::decode_lease(answer.body));
    lease = std::move(told.view);
  }
  return Unit{};
}

Result<client::Arrival> Waiter::next() {
  const Instant now = os::PosixClock().now();
  if (now >= until_) return Error{Errc::kTimedOut, ""};
  return client_.connection().wait(until_ - now);
}

// Waits for the daemon to be there again; kTimedOut if `until` passes before.
Status Waiter::reconnect_daemon(const Error& lost) {
  const os::PosixClock clock;
  if (lost.code == Errc::kTimedOut && clock.now() >= until_) return lost;
  if (lost.code != Errc::kUnavailable && lost.code != Errc::kTimedOut) return lost;
  while (clock.now() < until_) {
    const Duration pause = std::min(client::reconnect_pause(), until_ - clock.now());
    ::poll(nullptr, 0, static_cast<int>(pause.ns / milliseconds(1).ns));
    const Status connected = client_.reconnect();
    if (connected.ok()) return connected;
    const Errc code = connected.error().code;
    const bool may_come =
        code == Errc::kNotFound || code == Errc::kUnavailable || code == Errc::kTimedOut;
    if (!may_come) return connected;
  }
  return Error{Errc::kTimedOut, ""};
}

}  // namespace berth::cli
