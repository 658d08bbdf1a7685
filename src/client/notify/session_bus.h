// SPDX-License-Identifier: Apache-2.0
// The door to the user's session: its D-Bus, and the notification server on it. A call waits for
// its answer, 5 s at most. Not shared between threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "notify/notification.h"
#include "notify/notification_set.h"

namespace berth::notify {

struct Pressed {
  NotificationId id;
  std::string key;
};
struct Dismissed {
  NotificationId id;
};
struct ServerCame {};
struct Replaced {};  // Another one shows alerts here from now on.
using BusNews = std::variant<Pressed, Dismissed, ServerCame, Replaced>;

class SessionBus {
 public:
  /// kUnavailable: there is no session bus, or none that answers.
  static Result<SessionBus> open();
  SessionBus(SessionBus&&) noexcept;
  SessionBus& operator=(SessionBus&&) = delete;
  ~SessionBus();

  /// One that `gives_way` to any other: false if there is another one in this session already. One
  /// that does not takes the place of such a one, and bears with others of its own kind.
  Result<bool> take_place(bool gives_way);
  /// Starts the server if the session can. kUnavailable: there is none.
  Result<Skills> ask_server();
  /// With `replaces`, in the place of that one.
  Result<NotificationId> show(const Notification& notification, NotificationId replaces);
  Status close(NotificationId id);

  /// What to wait for, and for how long at most.
  int descriptor() const;
  short events() const;
  Duration patience() const;
  /// What has come, without waiting. An Error: the session is over.
  Result<std::vector<BusNews>> read();

 private:
  struct Impl;
  explicit SessionBus(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;  // The library keeps its address.
};

}  // namespace berth::notify
