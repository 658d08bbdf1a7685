// SPDX-License-Identifier: Apache-2.0
#include "notify/notification_set.h"

#include <algorithm>
#include <iterator>

namespace berth::notify {

NotificationSet::Key NotificationSet::key_of(const Alert& alert) {
  return {alert.rule, alert.subject.kind, alert.subject.device, alert.subject.lease};
}

void NotificationSet::make_room() {
  if (firing_.size() < kAlertsMax) return;
  firing_.erase(std::ranges::min_element(
      firing_, {}, [](const auto& entry) { return entry.second.alert.time; }));
}

std::vector<Change> NotificationSet::heard(const Alert& alert) {
  const auto found = firing_.find(key_of(alert));
  if (alert.state == Alert::State::kFiring) {
    if (found == firing_.end()) make_room();
    Firing& firing = firing_[key_of(alert)];
    firing.alert = alert;
    firing.dismissed = false;
    return {{.kind = Change::Kind::kShow, .alert = alert, .id = firing.shown}};
  }
  if (found == firing_.end()) return {};
  const NotificationId shown = found->second.shown;
  firing_.erase(found);
  if (shown == NotificationId{}) return {};
  return {{.kind = Change::Kind::kClose, .id = shown}};
}

std::vector<Change> NotificationSet::reconciled(const RuleStates& states) {
  std::vector<Change> changes;
  std::set<Key> wanted;
  for (const Alert& alert : states.firing) wanted.insert(key_of(alert));
  for (auto entry = firing_.begin(); entry != firing_.end();) {
    if (wanted.contains(entry->first) || states.events.contains(entry->second.alert.rule)) {
      ++entry;
      continue;
    }
    if (const NotificationId shown = entry->second.shown; shown != NotificationId{}) {
      changes.push_back({.kind = Change::Kind::kClose, .id = shown});
    }
    entry = firing_.erase(entry);
  }
  for (const Alert& alert : states.firing) {
    if (!firing_.contains(key_of(alert)))
      std::ranges::move(heard(alert), std::back_inserter(changes));
  }
  return changes;
}

std::vector<Change> NotificationSet::server_came() {
  std::vector<Change> changes;
  for (auto& [key, firing] : firing_) {
    firing.shown = {};
    if (firing.dismissed) continue;
    changes.push_back({.kind = Change::Kind::kShow, .alert = firing.alert});
  }
  return changes;
}

void NotificationSet::shown(const Alert& alert, NotificationId id) {
  if (const auto found = firing_.find(key_of(alert)); found != firing_.end()) {
    found->second.shown = id;
  }
}

void NotificationSet::dismissed(NotificationId id) {
  if (id == NotificationId{}) return;
  for (auto& [key, firing] : firing_) {
    if (firing.shown != id) continue;
    firing.shown = {};
    firing.dismissed = true;
  }
}

bool NotificationSet::is_ours(NotificationId id) const {
  return id != NotificationId{} &&
         std::ranges::any_of(firing_, [&](const auto& entry) { return entry.second.shown == id; });
}

}  // namespace berth::notify
