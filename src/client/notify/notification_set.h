// SPDX-License-Identifier: Apache-2.0
// Set of the notifications that stand for alerts: one for each rule and subject, changed in its
// place, and taken away when the alert is over. It shows nothing itself. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "model/alert.h"

namespace berth::notify {

/// As the notification server numbers them; 0: none.
struct NotificationId {
  std::uint32_t value = 0;
  friend bool operator==(const NotificationId&, const NotificationId&) = default;
};

struct Change {
  enum class Kind : std::uint8_t { kShow, kClose };
  Kind kind = Kind::kShow;
  Alert alert;        // Of kShow.
  NotificationId id;  // What it replaces, or what to close.
};

/// How all rules stand at one moment.
struct RuleStates {
  std::vector<Alert> firing;
  std::set<std::string> events;  // The rules whose alerts are never over.
};

class NotificationSet {
 public:
  static constexpr std::size_t kAlertsMax = 256;  // The oldest are forgotten, and stay shown.

  /// What follows from news.
  std::vector<Change> heard(const Alert& alert);
  /// What follows from being told how all stand now. What is shown already stays as it is, and so
  /// does what is never over.
  std::vector<Change> reconciled(const RuleStates& states);
  /// What follows from a notification server that has come anew: it knows none of the old ones.
  std::vector<Change> server_came();

  /// The alert is on the screen, as this.
  void shown(const Alert& alert, NotificationId id);
  /// The user has put it away, or it was there for long enough. It is shown again when the alert is
  /// repeated, and not before.
  void dismissed(NotificationId id);
  bool is_ours(NotificationId id) const;

 private:
  using Key = std::tuple<std::string, Alert::Subject::Kind, DeviceId, LeaseId>;
  struct Firing {
    Alert alert;
    NotificationId shown;
    bool dismissed = false;
  };
  static Key key_of(const Alert& alert);
  void make_room();

  std::map<Key, Firing> firing_;
};

}  // namespace berth::notify
