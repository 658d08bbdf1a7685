// SPDX-License-Identifier: Apache-2.0
#include "server/http_frontend.h"

#include <gtest/gtest.h>

#include "base/checked.h"
#include "config/config.h"

namespace berth::server {
namespace {

TEST(FrontendLimits, LeaveDescriptorsInHand) {
  const config::Config config = config::built_in(config::Mode::kUser);
  for (const std::uint64_t descriptors : {64U, 1'024U, 524'288U}) {
    const HttpFrontend::Limits both = HttpFrontend::limits(config, descriptors, true);
    const HttpFrontend::Limits alone = HttpFrontend::limits(config, descriptors, false);
    const http::Limits port = checked(both.port);
    EXPECT_FALSE(alone.port.has_value());
    EXPECT_LT(alone.socket.connections, descriptors);
    EXPECT_EQ(both.socket.connections + port.connections, alone.socket.connections);
    EXPECT_GT(port.connections, 0U);
    EXPECT_LT(port.connections, both.socket.connections);
  }
}

TEST(FrontendLimits, BoundHowLongAPortIsHeldByWhoAsksNothing) {
  const HttpFrontend::Limits both =
      HttpFrontend::limits(config::built_in(config::Mode::kUser), 1'024, true);
  EXPECT_TRUE(checked(both.port).idle_within.has_value());
  EXPECT_FALSE(both.socket.idle_within.has_value());
}

}  // namespace
}  // namespace berth::server
