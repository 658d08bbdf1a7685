// SPDX-License-Identifier: Apache-2.0
#include "server/alert_service.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "base/check.h"
#include "os/random.h"

namespace berth::server {
namespace {

using alerts::Source;

constexpr const char* kEvent = "alert";
constexpr const char* kTestEvent = "alert.test";

std::optional<Source> source_of(core::LeaseEvent news) {
  switch (news) {
    case core::LeaseEvent::kQueued:
    case core::LeaseEvent::kRequeued:
      return Source::kLeaseQueued;
    case core::LeaseEvent::kGranted:
      return Source::kLeaseGranted;
    case core::LeaseEvent::kCheckpoint:
      return Source::kLeaseCheckpoint;
    case core::LeaseEvent::kCheckpointed:
      return Source::kLeaseCheckpointed;
    case core::LeaseEvent::kSuspended:
      return Source::kLeaseSuspended;
    case core::LeaseEvent::kResumed:
      return Source::kLeaseResumed;
    case core::LeaseEvent::kEnded:
      return Source::kLeaseEnded;
    case core::LeaseEvent::kMessageSent:
      return Source::kLeaseMessage;
    default:
      return std::nullopt;
  }
}

std::optional<Source> source_of(Verb verb) {
  return verb == Verb::kRefuse ? std::optional(Source::kLeaseRefused) : std::nullopt;
}

alerts::Moment moment_of(core::Now now) {
  return {.instant = now.instant, .wall = now.wall};
}

Alert::Subject subject_of(const alerts::RuleState& state) {
  using Kind = Alert::Subject::Kind;
  const bool device = state.about.lease == LeaseId{};
  return {.kind = device ? Kind::kDevice : Kind::kLease,
          .device = state.about.device,
          .lease = state.about.lease,
          .name = state.name};
}

std::vector<std::string> channels_of(const config::AlertRule& rule) {
  std::vector<std::string> channels{"events"};
  if (rule.terminal) channels.emplace_back("terminal");
  if (rule.desktop) channels.emplace_back("desktop");
  if (rule.has_webhook()) channels.emplace_back("webhook");
  if (!rule.command.empty()) channels.emplace_back("command");
  return channels;
}

bool has(const config::AlertRule& rule, AlertDelivery::Channel channel) {
  return channel == AlertDelivery::Channel::kWebhook ? rule.has_webhook() : !rule.command.empty();
}

std::string new_id() {
  return to_text(os::random_handle()).substr(2);
}

alerts::Outcome outcome_of(wire::DeliveryOutcome::Kind kind) {
  switch (kind) {
    case wire::DeliveryOutcome::Kind::kDelivered:
      return alerts::Outcome::kDelivered;
    case wire::DeliveryOutcome::Kind::kRefused:
      return alerts::Outcome::kRefused;
    case wire::DeliveryOutcome::Kind::kRetry:
      break;
  }
  return alerts::Outcome::kRetry;
}

wire::Delivered delivered(AlertDelivery::Channel channel, const wire::DeliveryOutcome& outcome,
                          UnixMs now) {
  wire::Delivered delivered{.channel = std::string(to_text(channel)),
                            .outcome = std::string(to_text(outcome.kind)),
                            .status = std::nullopt,
                            .reason = outcome.reason,
                            .time = now};
  if (outcome.status) delivered.status = static_cast<std::int32_t>(*outcome.status);
  return delivered;
}

}  // namespace

void AlertService::configure(const Rules& rules) {
  rules_ = rules;
  std::vector<alerts::Rule> active;
  for (const auto& [name, rule] : rules_) {
    if (!rule.enabled || !rule.when) continue;
    active.push_back(
        {.name = name, .when = *rule.when, .repeat = rule.repeat, .severity = rule.severity});
  }
  alarms_.configure(std::move(active));
  stirred_ = true;
}

void AlertService::looked(core::Now now, const core::Coordinator& coordinator) {
  if (!restored_) return;
  alerts::Facts facts{.devices = coordinator.devices(now), .leases = {}};
  if (alarms_.look_at_leases()) {
    facts.leases = coordinator.leases(now);
  } else {
    std::set<LeaseId> ids;
    for (const DeviceView& device : facts.devices) {
      ids.insert(device.leases.begin(), device.leases.end());
    }
    for (const LeaseId id : ids) {
      if (auto lease = coordinator.lease(id, now)) facts.leases.push_back(*std::move(lease));
    }
  }
  for (Alert& alert : alarms_.step(moment_of(now), facts)) {
    const auto lease = coordinator.lease(alert.subject.lease, now);
    const auto about = lease ? std::optional(lease->user) : std::nullopt;
    outgoing_.push_back({std::move(alert), about});
  }
}

void AlertService::on_lease_event(core::Now now, const core::Coordinator& coordinator,
                                  const core::Notify& news) {
  happened(now, coordinator, news.lease, source_of(news.news), {});
}

void AlertService::on_audit(core::Now now, const core::Coordinator& coordinator,
                            const AuditEntry& entry) {
  happened(now, coordinator, entry.lease, source_of(entry.verb), entry.reason);
}

void AlertService::happened(core::Now now, const core::Coordinator& coordinator, LeaseId id,
                            std::optional<Source> event, const std::string& reason) {
  if (!event || !alarms_.hears(*event)) return;
  const auto lease = coordinator.lease(id, now);
  if (!lease) return;
  for (Alert& alert : alarms_.on_lease_event(moment_of(now), *event, *lease, reason)) {
    outgoing_.push_back({std::move(alert), lease->user});
  }
}

void AlertService::flush() {
  for (const auto& [alert, about] : std::exchange(outgoing_, {})) {
    const auto rule = rules_.find(alert.rule);
    if (rule == rules_.end()) continue;  // It went with a reload in this very turn.
    ports_.log("alert " + alert.rule + ": " + alert.text);
    ports_.publish(alert, rule->second.terminal);
    queue(alert, rule->second, about);
  }
  const core::Now now = ports_.now();
  if (stirred_ || now.instant >= due_) send_due();
  for (;;) {
    if (unkept_.empty()) {
      unkept_ = {.messages = deliveries_.take_changes(),
                 .firing = alarms_.take_firing(moment_of(now))};
    }
    if (unkept_.empty() || !ports_.keep(unkept_)) return;
    unkept_ = {};
  }
}

void AlertService::queue(const Alert& alert, const config::AlertRule& rule,
                         std::optional<UserId> about) {
  using Channel = AlertDelivery::Channel;
  for (const Channel channel : {Channel::kWebhook, Channel::kCommand}) {
    if (!has(rule, channel)) continue;
    stirred_ = true;
    const auto lost = deliveries_.add({.id = new_id(),
                                       .rule = alert.rule,
                                       .channel = channel,
                                       .body = wire::encode_alert(alert),
                                       .created = alert.time,
                                       .next = alert.time},
                                      about);
    if (!lost) continue;
    ports_.log("alert " + lost->rule + ": more than " +
               std::to_string(alerts::Deliveries::kWaitingMax) +
               " messages are to be sent, and the oldest of whoever has most is not sent any more");
  }
}

// Where to is what the configuration says now: a rule that was taken away sends nothing more.
std::optional<wire::Delivery> AlertService::addressed(const AlertDelivery& delivery) const {
  const auto found = rules_.find(delivery.rule);
  if (found == rules_.end() || !has(found->second, delivery.channel)) return std::nullopt;
  const config::AlertRule& rule = found->second;
  wire::Delivery message{.id = delivery.id, .event = kEvent, .body = delivery.body, .to = {}};
  if (delivery.channel == AlertDelivery::Channel::kCommand) {
    message.to = wire::AlertCommand{.words = rule.command};
  } else {
    message.to = wire::Webhook{.url = rule.webhook,
                               .url_file = rule.webhook_file,
                               .secret_file = rule.secret_file,
                               .allow_private = rule.allow_private};
  }
  return message;
}

void AlertService::send_due() {
  if (std::exchange(stirred_, false)) {
    deliveries_.drop_if([&](const AlertDelivery& delivery) { return !addressed(delivery); });
  }
  for (const AlertDelivery& delivery : deliveries_.take_due(ports_.now().wall)) {
    const auto message = addressed(delivery);
    CHECK(message.has_value());
    ports_.deliver(*message, [this, delivery](const wire::DeliveryOutcome& outcome) {
      finished(delivery, outcome);
    });
  }
  const core::Now now = ports_.now();
  const auto left = deliveries_.next(now.wall);
  due_ = left ? now.instant + *left : Instant::never();
}

void AlertService::finished(const AlertDelivery& delivery, const wire::DeliveryOutcome& outcome) {
  stirred_ = true;
  const core::Now now = ports_.now();
  const auto fate = deliveries_.finished(delivery.number, outcome_of(outcome.kind),
                                         outcome.retry_after, now.wall, os::random_number());
  const wire::Delivered before =
      std::exchange(last_[delivery.rule], delivered(delivery.channel, outcome, now.wall));
  const std::string what = "alert " + delivery.rule + ": its " +
                           std::string(to_text(delivery.channel)) + " was not reached";
  if (fate == alerts::Deliveries::Disposition::kGivenUp) {
    ports_.log(what + " (" + outcome.reason + "): that message is not sent any more");
  } else if (fate == alerts::Deliveries::Disposition::kAgain && before.outcome != "retry") {
    ports_.log(what + " (" + outcome.reason + "): it is tried again");
  } else if (fate == alerts::Deliveries::Disposition::kDone && before.outcome == "retry") {
    ports_.log("alert " + delivery.rule + ": its " + std::string(to_text(delivery.channel)) +
               " was reached");
  }
}

Instant AlertService::next() const {
  if (stirred_ || !outgoing_.empty()) return Instant{};
  return unkept_.empty() ? due_ : std::min(due_, ports_.now().instant + seconds(1));
}

void AlertService::restore(KeptAlerts kept) {
  deliveries_.restore(std::move(kept.messages));
  alarms_.restore(kept.firing, moment_of(ports_.now()));
  restored_ = true;
  stirred_ = true;
}

/// What came of a test so far.
struct AlertService::Testing {
  wire::AlertTest test;
  std::size_t missing = 0;
  Tested then;
};

bool AlertService::test(const std::string& name, Tested then) {
  using Channel = AlertDelivery::Channel;
  const auto found = rules_.find(name);
  if (found == rules_.end()) return false;
  const core::Now now = ports_.now();
  const Alert alert{.rule = name,
                    .text = "this is a test of the rule " + name,
                    .value = std::nullopt,
                    .severity = Severity::kInfo,
                    .time = now.wall,
                    .since = now.wall};
  const std::size_t listeners = ports_.listeners();
  ports_.publish(alert, false);
  // Each of its deliveries has its own ending, and the last of them ends the test.
  auto testing = std::make_shared<Testing>();
  testing->test.rule = name;
  testing->then = std::move(then);
  testing->test.outcomes.push_back({.channel = "events",
                                    .outcome = listeners == 0 ? "nobody" : "delivered",
                                    .status = std::nullopt,
                                    .reason = std::to_string(listeners) + " listen",
                                    .time = now.wall});
  testing->missing = 1;
  const auto over = [testing] {
    if (--testing->missing == 0) testing->then(testing->test);
  };
  for (const Channel channel : {Channel::kWebhook, Channel::kCommand}) {
    auto message = addressed(
        {.id = new_id(), .rule = name, .channel = channel, .body = wire::encode_alert(alert)});
    if (!message) continue;
    message->event = kTestEvent;
    ++testing->missing;
    ports_.deliver(*message, [this, testing, channel, over](const wire::DeliveryOutcome& outcome) {
      testing->test.outcomes.push_back(delivered(channel, outcome, ports_.now().wall));
      over();
    });
  }
  over();
  return true;
}

std::optional<wire::Delivered> AlertService::last_of(const std::string& rule) const {
  const auto found = last_.find(rule);
  return found == last_.end() ? std::nullopt : std::optional(found->second);
}

wire::AlertList AlertService::list(core::Now now) const {
  std::map<std::string, std::vector<wire::RuleStateView>> states;
  for (const alerts::RuleState& one : alarms_.states()) {
    states[one.rule].push_back(
        {.subject = subject_of(one), .text = one.text, .firing = one.firing, .since = one.since});
  }
  wire::AlertList list{.time = now.wall, .items = {}};
  for (const auto& [name, rule] : rules_) {
    CHECK(rule.when.has_value());
    list.items.push_back({.name = name,
                          .when = to_text(*rule.when),
                          .enabled = rule.enabled,
                          .severity = rule.severity,
                          .repeat = rule.repeat,
                          .channels = channels_of(rule),
                          .undelivered = deliveries_.count_of(name),
                          .last_delivery = last_of(name),
                          .states = std::move(states[name])});
  }
  return list;
}

}  // namespace berth::server
