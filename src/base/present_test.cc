// SPDX-License-Identifier: Apache-2.0
#include "base/present.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace berth {
namespace {

TEST(Present, GivesWhatIsThereToReadAndToChange) {
  std::optional<std::string> name = "a";
  present(name) += "b";
  const std::optional<std::string>& seen = name;
  EXPECT_EQ(present(seen), "ab");
}

TEST(PresentDeathTest, StopsWhereNothingIsThere) {
  const std::optional<int> nothing;
  EXPECT_DEATH((void)present(nothing), "has_value");
}

}  // namespace
}  // namespace berth
