// SPDX-License-Identifier: Apache-2.0
#include "agents/job_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace berth::agents {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LastLines, AreTheLastInTheirOrder) {
  EXPECT_THAT(last_lines("one\ntwo\nthree\n", 2), ElementsAre("two", "three"));
  EXPECT_THAT(last_lines("one\n\nthree", 9), ElementsAre("one", "", "three"));
  EXPECT_THAT(last_lines("", 9), IsEmpty());
  EXPECT_THAT(last_lines("one", 0), IsEmpty());
}

TEST(LastLines, AreHarmlessAndCutAtAWholeLetter) {
  EXPECT_THAT(last_lines("a\tb\x1b[31m\n", 1), ElementsAre("a b?[31m"));
  EXPECT_THAT(last_lines(std::string(399, 'x') + "\u00e9\n", 1),
              ElementsAre(std::string(399, 'x')));
  EXPECT_THAT(last_lines(std::string(398, 'x') + "\u00e9y\n", 1),
              ElementsAre(std::string(398, 'x') + "\u00e9"));
}

}  // namespace
}  // namespace berth::agents
