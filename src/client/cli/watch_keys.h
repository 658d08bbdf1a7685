// SPDX-License-Identifier: Apache-2.0
// The keys of a user who looks on: q leaves, Ctrl-C and Ctrl-Z do what they always do, any other
// looks again.
#pragma once

#include <termios.h>

#include "base/units.h"

namespace berth::cli {

/// Standard input gives keys one by one and shows none while this lives, where it is a terminal and
/// we are in its foreground; else nobody is there, and it is left alone. Ctrl-C is a key here, so
/// that the terminal is as it was when that ends us.
class WatchKeys {
 public:
  /// Without `are_read` the input is left alone: another program reads what is shown.
  explicit WatchKeys(bool are_read) : ended_(!are_read) {}
  ~WatchKeys() { give_back(); }
  WatchKeys(const WatchKeys&) = delete;
  WatchKeys& operator=(const WatchKeys&) = delete;

  /// Waits so long, or for a key. False: the user wants to leave.
  bool wait(Duration most);

 private:
  bool take();
  void give_back();
  void raise_as_before(int signal);

  termios before_{};
  bool taken_ = false;
  bool ended_;  // Nothing is typed any more.
};

}  // namespace berth::cli
