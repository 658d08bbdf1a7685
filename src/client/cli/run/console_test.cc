// SPDX-License-Identifier: Apache-2.0
#include "cli/run/console.h"

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

TEST(Notification, IsWhatTheTerminalIsKnownToUnderstand) {
  const auto of = [](const TerminalKind& kind) { return notification("granted", kind); };
  EXPECT_EQ(of({.term = "xterm-256color", .vte = true}), "\x1b]777;notify;berth;granted\x1b\\");
  EXPECT_EQ(of({.term = "foot"}), "\x1b]777;notify;berth;granted\x1b\\");
  EXPECT_EQ(of({.term = "xterm-kitty"}), "\x1b]9;berth: granted\x1b\\");
  EXPECT_EQ(of({.term = "xterm-256color", .program = "iTerm.app"}), "\x1b]9;berth: granted\x1b\\");
  EXPECT_EQ(of({.term = "xterm-256color"}), "\a");
  EXPECT_EQ(of({}), "\a");
}

}  // namespace
}  // namespace berth::cli
