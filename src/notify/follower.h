// SPDX-License-Identifier: Apache-2.0
// Follows the daemon's news of alerts, from one daemon to the next: it waits for one where none
// runs, and starts none. Not shared between threads.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "client/client.h"
#include "model/alert.h"
#include "notify/board.h"
#include "os/places.h"

namespace berth::notify {

class Follower {
 public:
  using Say = std::function<void(std::string_view line)>;
  Follower(os::Surroundings surroundings, Say say)
      : surroundings_(std::move(surroundings)), say_(std::move(say)) {}

  struct News {
    std::optional<Standing> standing;  // From a daemon that was just found.
    std::vector<Alert> alerts;         // In their order, after that.
  };
  /// What has come, without waiting for more; connecting may block for some seconds. An Error is
  /// one that no later daemon mends: it is somebody else's, of another world or version.
  Result<News> look(Instant now);

  int descriptor() { return client_ ? client_->connection().descriptor() : -1; }  // -1: none now
  /// When to look although nothing has come.
  Instant look_at() const { return client_ ? Instant::never() : next_try_; }

 private:
  Status connect();
  Status read(News& news);
  Result<Standing> ask_standing();
  Status lost(const Error& error, Instant now);

  os::Surroundings surroundings_;
  Say say_;
  std::optional<client::Client> client_;
  Instant next_try_;
  Duration pause_ = kPauseMin;
  bool said_ = false;  // That there is no daemon.

  static constexpr Duration kPauseMin = milliseconds(100);
  static constexpr Duration kPauseMax = seconds(10);
};

}  // namespace berth::notify
