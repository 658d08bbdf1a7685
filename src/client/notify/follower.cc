// SPDX-License-Identifier: Apache-2.0
#include "notify/follower.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "alerts/expression.h"
#include "base/checked.h"
#include "wire/alerts.h"
#include "wire/error.h"
#include "wire/routes.h"
#include "wire/sse.h"

namespace berth::notify {
namespace {

/// No later daemon mends it, and no patience.
bool is_final(Errc code) {
  return code == Errc::kPermission || code == Errc::kVersion || code == Errc::kConflict ||
         code == Errc::kInvalid;
}

Error refusal(const client::Answer& answer) {
  return {Errc::kUnavailable, wire::decode_error(answer.body).message};
}

}  // namespace

Result<Follower::News> Follower::look(Instant now) {
  News news;
  if (!client_) {
    if (now < next_try_) return news;
    Status connected = connect();
    if (connected.ok()) {
      auto states = ask_states();
      if (states.ok()) {
        news.states = *std::move(states);
      } else {
        connected = states.error();
      }
    }
    if (!connected.ok()) {
      TRY_STATUS(lost(connected.error(), now));
      news.over = bounds_ == Bounds::kDaemon && pause_ > kGone;
      return news;
    }
    if (std::exchange(said_, false)) say_("the daemon is there again");
    pause_ = kPauseMin;
  }
  Status status = read(news);
  if (status.ok() && bounds_ == Bounds::kDaemon) status = leave_wanted(news);
  if (!status.ok()) TRY_STATUS(lost(status.error(), now));
  return news;
}

// A rule that is new since they were asked for is asked for again.
Status Follower::leave_wanted(News& news) {
  const auto is_unknown = [&](const Alert& alert) { return !known_.contains(alert.rule); };
  if (std::ranges::any_of(news.alerts, is_unknown)) {
    TRY(states, ask_states());
    for (const Alert& alert : news.alerts) known_.insert(alert.rule);
    if (news.states) news.states = std::move(states);
  }
  std::erase_if(news.alerts, [&](const Alert& alert) { return !wanted_.contains(alert.rule); });
  return Unit{};
}

Status Follower::connect() {
  TRY(client, client::Client::connect(
                  {.env = env_, .autostart = client::Autostart::kNever, .version = BERTH_VERSION}));
  TRY_STATUS(client.connection().send({.route = wire::Route::kEvents}));
  client_.emplace(std::move(client));
  return Unit{};
}

// Over a connection of its own, after the stream was asked for: so nothing is missed in between.
Result<RuleStates> Follower::ask_states() {
  TRY(connection, checked(client_).another());
  TRY(answer, connection.ask({.route = wire::Route::kAlerts}));
  if (!answer.ok()) return refusal(answer);
  TRY(list, wire::decode_alerts(answer.body));
  RuleStates states;
  known_.clear();
  wanted_.clear();
  for (const wire::RuleView& rule : list.items) {
    known_.insert(rule.name);
    const bool wanted = std::ranges::find(rule.channels, "desktop") != rule.channels.end();
    if (wanted) wanted_.insert(rule.name);
    if (!wanted && bounds_ == Bounds::kDaemon) continue;
    const auto when = alerts::parse_expression(rule.when);
    if (when.ok() && alerts::is_event(when->source)) states.events.insert(rule.name);
    for (const wire::RuleStateView& view : rule.states) {
      if (!view.firing) continue;
      states.firing.push_back({.rule = rule.name,
                               .subject = view.subject,
                               .text = view.text,
                               .severity = rule.severity,
                               .time = list.time,
                               .since = view.since});
    }
  }
  return states;
}

Status Follower::read(News& news) {
  while (true) {
    TRY(arrival, checked(client_).connection().receive());
    if (!arrival) return Unit{};
    if (const auto* answer = std::get_if<client::Answer>(&*arrival)) return refusal(*answer);
    const auto* event = std::get_if<wire::SseEvent>(&*arrival);
    if (event == nullptr) return Error{Errc::kUnavailable, "the daemon ended its stream of news"};
    if (event->event != to_text(wire::EventName::kAlert)) continue;
    Result<Alert> alert = wire::decode_alert(event->data);
    if (alert.ok()) {
      news.alerts.push_back(*std::move(alert));
    } else {
      say_("an alert is not understood: " + alert.error().message);
    }
  }
}

// Said once, until there is a daemon again; the pauses grow meanwhile.
Status Follower::lost(const Error& error, Instant now) {
  client_.reset();
  if (is_final(error.code)) return error;
  if (pause_ == kPauseMax && !std::exchange(said_, true)) say_(error.message + "; waiting for it");
  next_try_ = now + pause_;
  pause_ = std::min(kPauseMax, Duration{pause_.ns * 2});
  return Unit{};
}

}  // namespace berth::notify
