// SPDX-License-Identifier: Apache-2.0
// Behaviour of peers.cc where libtorch comes without the headers of Gloo. Built without them
// everywhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/peers.h"

namespace berth::trainer {
namespace {

TEST(WithoutGloo, SeveralProcessesAreRefusedAtOnceAndToldWhy) {
  // Where it waited, it would say that they have not met.
  const auto peers = Peers::meet({.rank = 0, .size = 2, .address = "127.0.0.1", .port = 1},
                                 Duration{1'000'000'000});
  ASSERT_FALSE(peers.ok());
  EXPECT_EQ(peers.error().code, Errc::kUnavailable);
  EXPECT_THAT(peers.error().message, testing::HasSubstr("trains in one process only"));
}

TEST(WithoutGloo, OneProcessTrainsAsEver) {
  Peers alone;
  double number = 7;
  EXPECT_TRUE(alone.sum({&number, 1}).ok());
  EXPECT_EQ(number, 7);
}

}  // namespace
}  // namespace berth::trainer
