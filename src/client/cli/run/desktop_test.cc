// SPDX-License-Identifier: Apache-2.0
#include "cli/run/desktop.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace berth::cli {
namespace {

struct Desktop : testing::Test {
  Desktop() {
    ::setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere", 1);
    ::unsetenv("BERTH_LEASE_ID");
    config.alerts["full"] = {.desktop = true};
    config.alerts["plain"] = {};
  }
  ~Desktop() override { ::unsetenv("DBUS_SESSION_BUS_ADDRESS"); }
  Desktop(const Desktop&) = delete;
  Desktop& operator=(const Desktop&) = delete;

  config::Config config;
};

TEST_F(Desktop, IsForARuleThatWantsIt) {
  EXPECT_TRUE(wants_desktop(config));
  config.alerts["full"].enabled = false;
  EXPECT_FALSE(wants_desktop(config));
  config.alerts["full"] = {};
  EXPECT_FALSE(wants_desktop(config));
}

TEST_F(Desktop, IsSwitchedOffByASetting) {
  config.client.desktop = false;
  EXPECT_FALSE(wants_desktop(config));
}

TEST_F(Desktop, NeedsASessionBus) {
  ::setenv("DBUS_SESSION_BUS_ADDRESS", "", 1);
  EXPECT_FALSE(wants_desktop(config));
  ::unsetenv("DBUS_SESSION_BUS_ADDRESS");
  EXPECT_FALSE(wants_desktop(config));
}

TEST_F(Desktop, IsNotStartedInsideOfALease) {
  ::setenv("BERTH_LEASE_ID", "l_aaaaaaaaaaaaaaaaaaaaaaaaaa", 1);
  EXPECT_FALSE(wants_desktop(config));
  ::unsetenv("BERTH_LEASE_ID");
}

}  // namespace
}  // namespace berth::cli
