// SPDX-License-Identifier: Apache-2.0
#include "base/bare_size.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(BareSize, IsGigabytesMegabytesOrBytes) {
  EXPECT_EQ(meant_by_bare_size("8"), "8G");
  EXPECT_EQ(meant_by_bare_size("1.5"), "1.5G");
  EXPECT_EQ(meant_by_bare_size("8192"), "8192M");
  EXPECT_EQ(meant_by_bare_size("8589934592"), "8589934592B");
}

TEST(BareSize, IsNoneThatHasAUnitOrIsNothing) {
  for (const char* text : {"8G", "8 GiB", "8589934592B", "0", "", "much", "1.2.3"}) {
    EXPECT_EQ(meant_by_bare_size(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace berth
