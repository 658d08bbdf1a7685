// SPDX-License-Identifier: Apache-2.0
#include "http/outgoing.h"

#include <gtest/gtest.h>

namespace berth::http {
namespace {

TEST(OutgoingTest, IsTakenInOrderHoweverItIsCut) {
  Outgoing out;
  std::string wanted;
  std::string taken;
  for (std::size_t i = 0; i < 100; ++i) {
    out.put(std::string(i, static_cast<char>('a' + i % 26)));
    wanted += std::string(i, static_cast<char>('a' + i % 26));
    const std::size_t now = out.size() * (i % 4) / 4;
    taken += out.left().substr(0, now);
    out.took(now);
  }
  taken += out.left();
  EXPECT_EQ(taken, wanted);
  EXPECT_GT(out.took(out.size()), 0U);
  EXPECT_EQ(out.size(), 0U);
  EXPECT_LT(out.capacity(), 64U);
}

TEST(OutgoingTest, AReaderAlwaysALittleBehindCostsLittle) {
  Outgoing out;
  out.put(std::string(100'000, 'a'));
  for (int i = 0; i < 1'000; ++i) {
    out.put(std::string(10'000, 'b'));
    out.took(10'000);
    ASSERT_EQ(out.size(), 100'000U);
  }
  EXPECT_LT(out.capacity(), 1'000'000U);
}

}  // namespace
}  // namespace berth::http
