// SPDX-License-Identifier: Apache-2.0
#include "notify/board.h"

#include <algorithm>
#include <iterator>

namespace berth::notify {

Board::Key Board::key_of(const Alert& alert) {
  return {alert.rule, alert.subject.kind, alert.subject.device, alert.subject.lease};
}

void Board::make_room() {
  if (firing_.size() < kAlertsMax) return;
  firing_.erase(std::ranges::min_element(
      firing_, {}, [](const auto& entry) { return entry.second.alert.time; }));
}

std::vector<Change> Board::heard(const Alert& alert) {
  const auto found = firing_.find(key_of(alert));
  if (alert.state == Alert::State::kFiring) {
    if (found == firing_.end()) make_room();
    Firing& firing = firing_[key_of(alert)];
    firing.alert = alert;
    firing.put_away = false;
    return {{.kind = Change::Kind::kShow, .alert = alert, .id = firing.shown}};
  }
  if (found == firing_.end()) return {};
  const NoticeId shown = found->second.shown;
  firing_.erase(found);
  if (shown == NoticeId{}) return {};
  return {{.kind = Change::Kind::kClose, .id = shown}};
}

std::vector<Change> Board::reconciled(const Standing& standing) {
  std::vector<Change> changes;
  std::set<Key> wanted;
  for (const Alert& alert : standing.firing) wanted.insert(key_of(alert));
  for (auto entry = firing_.begin(); entry != firing_.end();) {
    if (wanted.contains(entry->first) || standing.events.contains(entry->second.alert.rule)) {
      ++entry;
      continue;
    }
    if (const NoticeId shown = entry->second.shown; shown != NoticeId{}) {
      changes.push_back({.kind = Change::Kind::kClose, .id = shown});
    }
    entry = firing_.erase(entry);
  }
  for (const Alert& alert : standing.firing) {
    if (!firing_.contains(key_of(alert)))
      std::ranges::move(heard(alert), std::back_inserter(changes));
  }
  return changes;
}

std::vector<Change> Board::server_came() {
  std::vector<Change> changes;
  for (auto& [key, firing] : firing_) {
    firing.shown = {};
    if (firing.put_away) continue;
    changes.push_back({.kind = Change::Kind::kShow, .alert = firing.alert});
  }
  return changes;
}

void Board::shown(const Alert& alert, NoticeId id) {
  if (const auto found = firing_.find(key_of(alert)); found != firing_.end()) {
    found->second.shown = id;
  }
}

void Board::put_away(NoticeId id) {
  if (id == NoticeId{}) return;
  for (auto& [key, firing] : firing_) {
    if (firing.shown != id) continue;
    firing.shown = {};
    firing.put_away = true;
  }
}

bool Board::is_ours(NoticeId id) const {
  return id != NoticeId{} &&
         std::ranges::any_of(firing_, [&](const auto& entry) { return entry.second.shown == id; });
}

}  // namespace berth::notify
