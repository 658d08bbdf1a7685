// SPDX-License-Identifier: Apache-2.0
#include "cli/run/lease_watch.h"

#include <string>
#include <utility>
#include <variant>

#include "base/quantity.h"
#include "cli/render/phrases.h"
#include "cli/run/words.h"
#include "os/clock.h"

namespace berth::cli {

LeaseWatch::LeaseWatch(client::Client& client, const LeaseView& lease, Talk& talk)
    : client_(client),
      handle_(lease.handle),
      name_("lease " + std::to_string(lease.id.value)),
      talk_(talk) {
  listen();
}

int LeaseWatch::descriptor() const {
  return listening_ ? client_.connection().descriptor() : -1;
}

void LeaseWatch::listen() {
  const Status sent =
      client_.connection().send({.route = wire::Route::kLeaseEvents, .lease = to_text(handle_)});
  listening_ = sent.ok();
  if (!listening_) lost();
}

void LeaseWatch::lost() {
  listening_ = false;
  reconnect_at_ = os::PosixClock().now() + client::reconnect_pause();
}

void LeaseWatch::woke(Instant) {
  reconnect_at_ = Instant::never();
  // Never waits for room in the daemon's backlog: the command's signals would wait as well.
  if (client_.reconnect(client::Backlog::kGiveUp).ok()) {
    listen();
  } else {
    lost();
  }
}

void LeaseWatch::readable() {
  while (listening_) {
    const Result<std::optional<client::Arrival>> received = client_.connection().receive();
    if (!received.ok()) return lost();
    const std::optional<client::Arrival>& arrival = *received;
    if (!arrival) return;
    if (const auto* event = std::get_if<wire::SseEvent>(&*arrival)) {
      take(*event);
    } else {
      listening_ = false;  // The lease has ended, or the daemon knows nothing of it any more.
    }
  }
}

void LeaseWatch::take(const wire::SseEvent& event) {
  const std::optional<wire::EventName> name = wire::parse_event_name(event.event);
  const Result<wire::LeaseAnswer> lease = wire::decode_lease(event.data);
  if (!name || !lease.ok()) return;
  const LeaseView& view = lease->view;
  const auto used = used_by(view);
  switch (*name) {
    case wire::EventName::kOverBudget:
      if (view.request.over_budget == OverBudget::kFail) break;
      talk_.say(name_ + " uses " + (used ? to_text(*used) : "more") + ", above its budget of " +
                to_text(granted_to(view)) +
                (view.request.over_budget == OverBudget::kKill
                     ? "; it is ended for that unless it uses less soon (--over-budget kill)"
                     : ""));
      break;
    case wire::EventName::kInBudget:
      talk_.say(name_ + " is within its budget again");
      break;
    case wire::EventName::kFull:
      talk_.say("in " + name_ + " " + full_text(view));
      break;
    case wire::EventName::kResized:
      talk_.say(name_ + " has " + to_text(granted_to(view)) + " now");
      break;
    case wire::EventName::kDegraded:
      talk_.say(name_ + " has lost a GPU and is held on the others");
      break;
    case wire::EventName::kAstray:
      // The daemon tells of each once; after a restart it does so again.
      for (const Stray& stray : view.strays) {
        if (!strays_told_.emplace(stray.device, stray.process).second) continue;
        talk_.say(name_ + ": " + stray_text(stray, talk_.scene().letters));
      }
      break;
    case wire::EventName::kRevoked:
      revoked_ = view.result;
      talk_.say(revoked_text(view));
      break;
    default:
      break;
  }
}

}  // namespace berth::cli
