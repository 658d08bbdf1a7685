// SPDX-License-Identifier: Apache-2.0
#include "base/checked.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace berth {
namespace {

TEST(Present, GivesWhatIsThereToReadAndToChange) {
  std::optional<std::string> name = "a";
  checked(name) += "b";
  const std::optional<std::string>& seen = name;
  EXPECT_EQ(checked(seen), "ab");
}

TEST(PresentDeathTest, StopsWhereNothingIsThere) {
  const std::optional<int> nothing;
  EXPECT_DEATH((void)checked(nothing), "has_value");
}

}  // namespace
}  // namespace berth
