// SPDX-License-Identifier: Apache-2.0
#include "cli/run/lease_watch.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "base/quantity.h"
#include "cli/render/halts.h"
#include "cli/render/messages.h"
#include "cli/render/phrases.h"
#include "cli/run/words.h"
#include "enforce/lease_files.h"
#include "os/clock.h"
#include "os/paths.h"
#include "wire/alerts.h"

namespace berth::cli {
namespace {

constexpr Duration kTellEvery = seconds(1);  // Until it was heard.

std::vector<DeviceId> its_devices(const LeaseView& lease) {
  std::vector<DeviceId> devices;
  devices.reserve(lease.parts.size());
  for (const LeasePart& part : lease.parts) devices.push_back(part.device);
  return devices;
}

}  // namespace

LeaseWatch::LeaseWatch(client::Client& client, const LeaseView& lease, Console& console,
                       Helpers helpers)
    : client_(client),
      handle_(lease.handle),
      name_("lease " + to_text(lease.id)),
      console_(console),
      saver_(helpers.saver),
      stopper_(helpers.stopper),
      devices_(its_devices(lease)) {
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

Instant LeaseWatch::wake_at() const {
  Instant at = std::min(reconnect_at_, offer_at_);
  if (stopper_ != nullptr) at = std::min(at, stopper_->wake_at());
  if (saver_ == nullptr) return at;
  const Instant tell_at = saver_->report() ? tell_at_ : Instant::never();
  return std::min({at, saver_->wake_at(), tell_at});
}

void LeaseWatch::woke(Instant now) {
  if (now >= reconnect_at_) reconnect_daemon();
  if (now >= offer_at_) offer_to_stop(now);
  if (stopper_ != nullptr) stopper_->woke(now);
  if (saver_ == nullptr) return;
  saver_->woke(now);
  tell_save(now);
}

// By its file, which says so before the command is stopped; news may come later.
bool LeaseWatch::is_frozen() const {
  return enforce::LeaseFiles({.root = os::leases_directory(client_.socket())})
      .paused(handle_)
      .frozen;
}

void LeaseWatch::reaped(std::int32_t pid, int status) {
  if (saver_ == nullptr) return;
  saver_->reaped(pid, status);
  tell_save(os::PosixClock().now());
}

// That it was heard is told by the news. Nothing here waits for the daemon: it is told again.
void LeaseWatch::tell_save(Instant now) {
  const std::optional<CheckpointedBody>& report = saver_->report();
  if (!report || now < tell_at_) return;
  tell_at_ = now + kTellEvery;
  Result<client::Connection> connection = client_.another(client::Backlog::kGiveUp);
  if (!connection.ok()) return;
  teller_.emplace(*std::move(connection));
  static_cast<void>(teller_->begin(
      {.route = wire::Route::kCheckpointed, .lease = to_text(handle_), .body = *report}));
}

void LeaseWatch::take_saves(const Checkpoints& saves) {
  if (saves.last) saver_->heard(saves.last->number);
  if (saves.asked) {
    tell_at_ = {};
    saver_->ask(*saves.asked, os::PosixClock().now());
  }
}

// Nothing is stopped before the daemon says that it knows: what was asked may be old.
void LeaseWatch::take_requeue(const LeaseView& lease) {
  const bool asked = lease.requeue == RequeueStep::kAsked;
  offer_at_ = asked ? Instant{} : Instant::never();
  if (comes_back(lease)) stopper_->begin(os::PosixClock().now());
}

void LeaseWatch::offer_to_stop(Instant now) {
  offer_at_ = now + kTellEvery;
  Result<client::Connection> connection = client_.another(client::Backlog::kGiveUp);
  if (!connection.ok()) return;
  offerer_.emplace(*std::move(connection));
  static_cast<void>(offerer_->begin({.route = wire::Route::kRequeuing, .lease = to_text(handle_)}));
}

void LeaseWatch::reconnect_daemon() {
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

void LeaseWatch::say_alert(const std::string& data) {
  const Result<Alert> alert = wire::decode_alert(data);
  if (!alert.ok()) return;
  console_.say("alert " + alert->rule + ": " +
               escape_control(alert->text, console_.context().charset));
}

// The daemon tells of each once; after a restart it does so again.
void LeaseWatch::say_strays(const LeaseView& view) {
  for (const Stray& stray : view.strays) {
    if (!strays_told_.emplace(stray.device, stray.process).second) continue;
    console_.complain(name_ + ": " + stray_text(stray, console_.context().charset));
  }
}

// One may have come before anybody listened, or while nobody did.
void LeaseWatch::say_messages(wire::EventName name, const LeaseView& view) {
  for (const Message& message : view.messages) {
    if (message.number <= messages_told_) continue;
    messages_told_ = message.number;
    if (!message.answer) console_.say(message_notice(view, message, console_.context()));
  }
  const Message* last = last_answered(view);
  if (name != wire::EventName::kMessageAnswered || last == nullptr) return;
  console_.say(name_ + ": " + message_text(*last, console_.context()) + " is " +
               answer_text(*last, console_.context()));
}

// Turns end again and again: the first time is enough. False: it is no end of a turn.
bool LeaseWatch::says_turn(const LeaseView& view) {
  if (view.request.share != Share::kSlice || !view.flags.resuming) return false;
  if (!std::exchange(turns_told_, true)) {
    console_.say(name_ +
                 " runs in turns: others have theirs, and its GPU memory is in host memory "
                 "until its next one (berth why " +
                 to_text(view.id) + ")");
  }
  return true;
}

void LeaseWatch::describe_frozen(const LeaseView& view) {
  console_.say(name_ + " " + halt_notice(view, console_.context()));
}

void LeaseWatch::say_resumed(const LeaseView& view) {
  std::vector<DeviceId> now = its_devices(view);
  const bool moved = now != devices_;
  devices_ = std::move(now);
  if (moved) return console_.say(name_ + " runs on " + devices_of(view.parts) + " now");
  if (view.request.share == Share::kSlice && turns_told_) return;
  console_.say(name_ + " has resumed");
}

void LeaseWatch::take(const wire::SseEvent& event) {
  const std::optional<wire::EventName> name = parse_word<wire::EventName>(event.event);
  if (name == wire::EventName::kAlert) return say_alert(event.data);
  const Result<wire::LeaseAnswer> lease = wire::decode_lease(event.data);
  if (!name || !lease.ok()) return;
  const LeaseView& view = lease->view;
  if (saver_ != nullptr) take_saves(view.checkpoints);
  if (stopper_ != nullptr) take_requeue(view);
  say_messages(*name, view);
  switch (*name) {
    case wire::EventName::kOverBudget:
      if (view.request.over_budget == OverBudget::kFail) break;
      console_.complain(above_budget_text(view));
      break;
    case wire::EventName::kInBudget:
      console_.say(name_ + " is within its budget again");
      break;
    case wire::EventName::kFull:
      console_.say("in " + name_ + " " + full_text(view));
      break;
    case wire::EventName::kResized:
      console_.say(name_ + " has " + to_text(granted_to(view)) + " now");
      break;
    case wire::EventName::kDegraded:
      console_.say(name_ + " has lost a GPU and is held on the others");
      break;
    case wire::EventName::kAstray:
      say_strays(view);
      break;
    case wire::EventName::kCheckpointed:
      if (const auto& last = view.checkpoints.last) {
        console_.say(name_ + " " + saved_text(*last, console_.context().charset));
      }
      break;
    case wire::EventName::kMeasure:
      if (const std::string text = measure_text(view); !text.empty()) {
        console_.say(escape_control(text, console_.context().charset));
      }
      break;
    case wire::EventName::kPressure:
      if (const std::string text = pressure_text(view); !text.empty()) console_.say(text);
      break;
    case wire::EventName::kSuspended:
      if (!says_turn(view)) describe_frozen(view);
      break;
    case wire::EventName::kFrozen:
      describe_frozen(view);
      break;
    case wire::EventName::kResumed:
      say_resumed(view);
      break;
    case wire::EventName::kDetached:
      detached_ = true;
      console_.say(detached_text(view, console_.context()));
      break;
    case wire::EventName::kRequeuing:
      console_.say(requeuing_text(view, console_.context()));
      break;
    case wire::EventName::kRequeueDropped:
      if (const auto& refusal = lease->refusal) console_.say(refusal->message);
      break;
    case wire::EventName::kRevoked:
      revoked_ = view.result;
      console_.say(revoked_text(view, console_.context()));
      break;
    default:
      break;
  }
}

}  // namespace berth::cli
