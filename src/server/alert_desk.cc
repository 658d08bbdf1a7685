// SPDX-License-Identifier: Apache-2.0
#include "server/alert_desk.h"

#include <set>
#include <utility>

#include "base/check.h"

namespace berth::server {
namespace {

using alerts::Source;

std::optional<Source> source_of(core::News news) {
  switch (news) {
    case core::News::kQueued:
    case core::News::kRequeued:
      return Source::kLeaseQueued;
    case core::News::kGranted:
      return Source::kLeaseGranted;
    case core::News::kCheckpoint:
      return Source::kLeaseCheckpoint;
    case core::News::kCheckpointed:
      return Source::kLeaseCheckpointed;
    case core::News::kSuspended:
      return Source::kLeaseSuspended;
    case core::News::kResumed:
      return Source::kLeaseResumed;
    case core::News::kEnded:
      return Source::kLeaseEnded;
    default:
      return std::nullopt;
  }
}

alerts::Moment moment_of(core::Now now) {
  return {.instant = now.instant, .wall = now.wall};
}

Alert::Subject subject_of(const alerts::Standing& standing) {
  using Kind = Alert::Subject::Kind;
  const bool device = standing.about.lease == LeaseId{};
  return {.kind = device ? Kind::kDevice : Kind::kLease,
          .device = standing.about.device,
          .lease = standing.about.lease,
          .name = standing.name};
}

std::vector<std::string> channels_of(const config::AlertRule& rule) {
  std::vector<std::string> channels{"events"};
  if (rule.terminal) channels.emplace_back("terminal");
  return channels;
}

}  // namespace

void AlertDesk::configure(const Rules& rules) {
  rules_ = rules;
  std::vector<alerts::Rule> active;
  for (const auto& [name, rule] : rules_) {
    if (!rule.enabled || !rule.when) continue;
    active.push_back(
        {.name = name, .when = *rule.when, .repeat = rule.repeat, .severity = rule.severity});
  }
  alarms_.configure(std::move(active));
}

void AlertDesk::looked(core::Now now, const core::Coordinator& coordinator) {
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
  for (Alert& alert : alarms_.step(moment_of(now), facts)) outgoing_.push_back(std::move(alert));
}

void AlertDesk::happened(core::Now now, const core::Coordinator& coordinator,
                         const core::Notify& news) {
  const auto source = source_of(news.news);
  if (!source || !alarms_.hears(*source)) return;
  const auto lease = coordinator.lease(news.lease, now);
  if (!lease) return;
  for (Alert& alert : alarms_.happened(moment_of(now), *source, *lease)) {
    outgoing_.push_back(std::move(alert));
  }
}

void AlertDesk::flush() {
  for (const Alert& alert : std::exchange(outgoing_, {})) {
    const auto rule = rules_.find(alert.rule);
    if (rule == rules_.end()) continue;  // It went with a reload in this very turn.
    doors_.log("alert " + alert.rule + ": " + alert.text);
    doors_.publish(alert, rule->second.terminal);
  }
}

wire::AlertList AlertDesk::list(core::Now now) const {
  std::map<std::string, std::vector<wire::StandingView>> standing;
  for (const alerts::Standing& one : alarms_.standing()) {
    standing[one.rule].push_back(
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
                          .standing = std::move(standing[name])});
  }
  return list;
}

}  // namespace berth::server
