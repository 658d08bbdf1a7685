// SPDX-License-Identifier: Apache-2.0
// Follows the daemon's news of alerts, from one daemon to the next: it waits for one where none
// runs, and starts none. Not shared between threads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "client/client.h"
#include "model/alert.h"
#include "notify/notification_set.h"
#include "os/paths.h"

namespace berth::notify {

class Follower {
 public:
  using Say = std::function<void(std::string_view line)>;
  enum class Bounds : std::uint8_t {
    kNone,    // All alerts of one daemon after the other.
    kDaemon,  // Those that a rule has on the desktop, while there is a daemon.
  };
  Follower(os::Environment env, Say say, Bounds bounds = Bounds::kNone)
      : env_(std::move(env)), say_(std::move(say)), bounds_(bounds) {}

  struct News {
    std::optional<RuleStates> states;  // From a daemon that was just found.
    std::vector<Alert> alerts;         // In their order, after that.
    bool over = false;                 // Bounded by the daemon, which has gone.
  };
  /// What has come, without waiting for more; connecting may block for some seconds. An Error is
  /// one that no later daemon mends: it is another user's, of another simulated machine or version.
  Result<News> look(Instant now);

  int descriptor() { return client_ ? client_->connection().descriptor() : -1; }  // -1: none now
  /// When to look although nothing has come.
  Instant look_at() const { return client_ ? Instant::never() : next_try_; }

 private:
  Status connect();
  Status read(News& news);
  Result<RuleStates> ask_states();
  Status lost(const Error& error, Instant now);
  Status leave_wanted(News& news);

  os::Environment env_;
  Say say_;
  Bounds bounds_;
  std::set<std::string> known_;   // Rules, of whom it is known whether they are
  std::set<std::string> wanted_;  // for the desktop.
  std::optional<client::Client> client_;
  Instant next_try_;
  Duration pause_ = kPauseMin;
  bool said_ = false;  // That there is no daemon.

  // Within this a daemon that was killed is there again.
  static constexpr Duration kGone = seconds(3);
  static constexpr Duration kPauseMin = milliseconds(100);
  static constexpr Duration kPauseMax = seconds(10);
};

}  // namespace berth::notify
