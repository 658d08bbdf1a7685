// SPDX-License-Identifier: Apache-2.0
#include "alerts/alarms.h"

#include <algorithm>
#include <utility>

#include "alerts/facts.h"
#include "base/quantity.h"

namespace berth::alerts {
namespace {

using Kind = Alert::Subject::Kind;

const Rule* find_rule(const std::vector<Rule>& rules, const std::string& name) {
  const auto found = std::ranges::find(rules, name, &Rule::name);
  return found == rules.end() ? nullptr : &*found;
}

Alert::Subject subject_of(const RuleSubject& about, std::string name) {
  const bool device = about.lease == LeaseId{};
  return {.kind = device ? Kind::kDevice : Kind::kLease,
          .device = about.device,
          .lease = about.lease,
          .name = std::move(name)};
}

// Of a device the lease that uses most of it.
std::vector<Alert::Action> actions_of(const RuleSubject& about, const Facts& facts) {
  const LeaseView* most = nullptr;
  Bytes most_used;
  for (const LeaseView& lease : facts.leases) {
    if (lease.id == about.lease) return actions_for(lease);
    for (const LeasePart& part : lease.parts) {
      const bool here = about.lease == LeaseId{} && part.device == about.device;
      const Bytes used = part.used.value_or(Bytes{});
      if (!here || used <= most_used) continue;
      most = &lease;
      most_used = used;
    }
  }
  return most == nullptr ? std::vector<Alert::Action>{} : actions_for(*most);
}

Alert over(const std::string& rule, const RuleSubject& about, const std::string& name, Moment now,
           UnixMs since, const std::string& text) {
  const Duration took = milliseconds(std::max<std::int64_t>(now.wall.value - since.value, 0));
  return {.rule = rule,
          .state = Alert::State::kCleared,
          .subject = subject_of(about, name),
          .text = "over after " + to_text(took) + ": " + text,
          .value = std::nullopt,
          .severity = Severity::kInfo,
          .time = now.wall,
          .since = since};
}

}  // namespace

struct Alarms::Look {
  RuleSubject about;
  std::string name;
  Finding found;
};

void Alarms::configure(std::vector<Rule> rules) {
  std::erase_if(states_, [&](const auto& entry) {
    const Rule* before = find_rule(rules_, entry.first.first);
    const Rule* after = find_rule(rules, entry.first.first);
    const bool drops = before == nullptr || after == nullptr || before->when != after->when;
    firing_changed_ |= drops && entry.second.firing;
    return drops;
  });
  rules_ = std::move(rules);
}

bool Alarms::look_at_leases() const {
  return std::ranges::any_of(rules_, [](const Rule& rule) {
    return about(rule.when.source) == Kind::kLease && !is_event(rule.when.source);
  });
}

std::vector<Alert> Alarms::step(Moment now, const Facts& facts) {
  std::vector<Alert> alerts;
  drop_gone(now, facts, alerts);
  for (const Rule& rule : rules_) {
    if (is_event(rule.when.source)) continue;
    if (about(rule.when.source) == Kind::kDevice) {
      for (const DeviceView& device : facts.devices) {
        judge(now, rule,
              {.about = {.device = device.id, .lease = {}},
               .name = name_of(device),
               .found = find_in(device, rule.when)},
              facts, alerts);
      }
    } else {
      for (const LeaseView& lease : facts.leases) {
        if (!concerns(rule.when, lease)) continue;
        judge(now, rule,
              {.about = {.device = {}, .lease = lease.id},
               .name = lease.request.name,
               .found = find_in(lease, rule.when)},
              facts, alerts);
      }
    }
  }
  return alerts;
}

// See Note [When an alert is over].
void Alarms::judge(Moment now, const Rule& rule, const Look& look, const Facts& facts,
                   std::vector<Alert>& alerts) {
  const Key key{rule.name, look.about};
  auto found = states_.find(key);
  const Finding& finding = look.found;
  if (!finding.so) return;
  if (found == states_.end()) {
    if (!*finding.so || states_.size() >= kStatesMax) return;
    found = states_.emplace(key, State{.from = now.instant, .since = now.wall}).first;
  }
  State& state = found->second;
  if (!state.firing && !*finding.so) {
    states_.erase(found);
    return;
  }
  state.name = look.name;
  state.text = finding.text;
  const bool first = !state.firing;
  if (first) {
    if (now.instant - state.from < rule.when.lasting) return;
    state.firing = true;
  } else if (finding.clear.value_or(false)) {
    if (!state.calm) state.calm = now.instant;
    if (now.instant - *state.calm < kCalmFor) return;
    alerts.push_back(over(rule.name, look.about, look.name, now, state.since, finding.text));
    states_.erase(found);
    firing_changed_ = true;
    return;
  } else {
    state.calm.reset();
    const bool due = rule.repeat > Duration{} && now.instant - state.notified >= rule.repeat;
    if (!due || !*finding.so) return;
  }
  state.notified = now.instant;
  firing_changed_ = true;
  alerts.push_back({.rule = rule.name,
                    .state = Alert::State::kFiring,
                    .subject = subject_of(look.about, look.name),
                    .text = finding.text,
                    .value = finding.value,
                    .unit = finding.unit,
                    .severity = rule.severity,
                    .time = now.wall,
                    .since = state.since,
                    .actions = actions_of(look.about, facts)});
}

// Of what is not there any more nothing can be found; a wait that has come to its end is one.
void Alarms::drop_gone(Moment now, const Facts& facts, std::vector<Alert>& alerts) {
  const auto is_there = [&](const RuleSubject& about) {
    if (about.lease == LeaseId{}) {
      // With no device at all the driver has told nothing yet.
      return facts.devices.empty() ||
             std::ranges::find(facts.devices, about.device, &DeviceView::id) != facts.devices.end();
    }
    return std::ranges::find(facts.leases, about.lease, &LeaseView::id) != facts.leases.end();
  };
  std::erase_if(states_, [&](const auto& entry) {
    const auto& [rule, about] = entry.first;
    const State& state = entry.second;
    if (is_there(about)) return false;
    if (state.firing) {
      firing_changed_ = true;
      const std::string who = about.lease == LeaseId{}
                                  ? state.name + " is not seen any more"
                                  : "lease " + to_text(about.lease) +
                                        (state.name.empty() ? "" : " (" + state.name + ")") +
                                        " has ended";
      alerts.push_back(over(rule, about, state.name, now, state.since, who));
    }
    return true;
  });
}

bool Alarms::hears(Source event) const {
  return std::ranges::find(rules_, event, [](const Rule& rule) { return rule.when.source; }) !=
         rules_.end();
}

std::vector<Alert> Alarms::on_lease_event(Moment now, Source event, const LeaseView& lease,
                                          const std::string& reason) const {
  std::vector<Alert> alerts;
  for (const Rule& rule : rules_) {
    if (rule.when.source != event || !concerns(rule.when, lease)) continue;
    alerts.push_back({.rule = rule.name,
                      .state = Alert::State::kFiring,
                      .subject = subject_of({.device = {}, .lease = lease.id}, lease.request.name),
                      .text = describe(event, lease, reason),
                      .value = std::nullopt,
                      .severity = rule.severity,
                      .time = now.wall,
                      .since = now.wall,
                      .actions = actions_for(lease)});
  }
  return alerts;
}

void Alarms::restore(const std::vector<FiringAlert>& kept, Moment now) {
  for (const FiringAlert& alert : kept) {
    const Rule* rule = find_rule(rules_, alert.rule);
    if (rule == nullptr || to_text(rule->when) != alert.when) {
      firing_changed_ = true;
      continue;
    }
    const std::int64_t ago = std::max<std::int64_t>(now.wall.value - alert.notified.value, 0);
    states_.insert_or_assign({alert.rule, {.device = alert.device, .lease = alert.lease}},
                             State{.name = alert.name,
                                   .text = alert.text,
                                   .firing = true,
                                   .from = now.instant,
                                   .since = alert.since,
                                   .notified = {now.instant.ns - milliseconds(ago).ns},
                                   .calm = std::nullopt});
  }
}

std::optional<std::vector<FiringAlert>> Alarms::take_firing(Moment now) {
  if (!std::exchange(firing_changed_, false)) return std::nullopt;
  std::vector<FiringAlert> firing;
  for (const auto& [key, state] : states_) {
    const Rule* rule = find_rule(rules_, key.first);
    if (!state.firing || rule == nullptr) continue;
    const Duration ago = now.instant - state.notified;
    firing.push_back({.rule = key.first,
                      .when = to_text(rule->when),
                      .device = key.second.device,
                      .lease = key.second.lease,
                      .name = state.name,
                      .text = state.text,
                      .since = state.since,
                      .notified = {now.wall.value - ago.ns / milliseconds(1).ns}});
  }
  return firing;
}

std::vector<RuleState> Alarms::states() const {
  std::vector<RuleState> all;
  all.reserve(states_.size());
  for (const auto& [key, state] : states_) {
    all.push_back({.rule = key.first,
                   .about = key.second,
                   .name = state.name,
                   .text = state.text,
                   .firing = state.firing,
                   .since = state.since});
  }
  return all;
}

}  // namespace berth::alerts
