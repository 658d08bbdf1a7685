// SPDX-License-Identifier: Apache-2.0
// Shows the daemon's alerts to the user who is logged in, and does what they press. One thread,
// which waits for three: the daemon, the session's bus, and the processes of actions.
#pragma once

#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "notify/action_process.h"
#include "notify/follower.h"
#include "notify/notification_set.h"
#include "notify/session_bus.h"
#include "os/clock.h"
#include "os/signals.h"

namespace berth::notify {

class Notifier {
 public:
  Notifier(SessionBus bus, Follower follower, os::SignalDescriptor signals)
      : bus_(std::move(bus)), follower_(std::move(follower)), signals_(std::move(signals)) {}

  /// Until it is told to end (SIGTERM, SIGINT), nothing is left to follow, another one has taken
  /// its place, or it cannot go on: an Error.
  Status run();

 private:
  Status look_at_daemon();
  Status look_at_bus();
  void look_at_actions();
  void wait();
  void perform(const std::vector<Change>& changes);
  void press(const Pressed& button);
  void show_text(const std::string& what, std::string_view said, bool succeeded);

  bool over_ = false;
  SessionBus bus_;
  Follower follower_;
  os::SignalDescriptor signals_;
  os::PosixClock clock_;
  NotificationSet notifications_;
  Skills skills_;
  std::list<ActionProcess> processes_;
};

/// A line on standard error.
void say(std::string_view line);

}  // namespace berth::notify
