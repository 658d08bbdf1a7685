// SPDX-License-Identifier: Apache-2.0
#include "base/size_argument.h"

#include <gtest/gtest.h>

#include "base/quantity.h"

namespace berth {
namespace {

TEST(SizeArgument, IsOneWordThatIsReadAgainAsTheSame) {
  for (const Bytes size : {gib(8), gib(1), mib(1433), mib(1), Bytes{17}}) {
    const std::string text = size_argument(size);
    EXPECT_EQ(text.find(' '), std::string::npos) << text;
    EXPECT_EQ(*parse_bytes(text), size) << text;
  }
  EXPECT_EQ(size_argument(gib(8)), "8G");
  EXPECT_EQ(size_argument(mib(1433)), "1433M");
  EXPECT_EQ(size_argument(Bytes{17}), "17B");  // -m takes no bare number.
}

TEST(SizeArgument, BetweenTwoMebibytesItIsTheOneThatWasAskedFor) {
  const Bytes odd = gib(3) + Bytes{1};
  EXPECT_EQ(size_argument(odd), "3G");
  EXPECT_EQ(size_argument_above(odd), "3073M");
  EXPECT_EQ(size_argument_above(gib(3)), "3G");
}

TEST(SizeArgument, ABudgetThatIsProposedLeavesRoom) {
  EXPECT_EQ(budget_for(gib(3)), mib(3328));
  EXPECT_EQ(budget_for(mib(3327)), mib(3328));
}

}  // namespace
}  // namespace berth
