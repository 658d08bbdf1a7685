// SPDX-License-Identifier: Apache-2.0
// Ends all that runs below this process: SIGTERM, and SIGKILL when the grace is over. It sends
// signals and waits for nothing. Only for a program with one thread.
#pragma once

#include "base/units.h"

namespace berth::cli {

class Stopper {
 public:
  explicit Stopper(Duration grace) : grace_(grace) {}

  /// SIGTERM; a second time it does nothing.
  void begin(Instant now);
  bool begun() const { return kill_at_ != Instant::never(); }

  /// When woke() is due; then again and again, since what is killed may have started more.
  Instant wake_at() const { return kill_at_; }
  void woke(Instant now);

 private:
  Duration grace_;
  Instant kill_at_ = Instant::never();
};

/// Something that was started below this process has not been reaped.
bool is_anything_left();

}  // namespace berth::cli
