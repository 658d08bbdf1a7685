// SPDX-License-Identifier: Apache-2.0
#include "base/boxed.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace berth {
namespace {

TEST(BoxedTest, ACopyHasAValueOfItsOwn) {
  Boxed<std::string> first(std::string("as it was"));
  Boxed<std::string> copy = first;
  *first = "changed";
  EXPECT_EQ(*copy, "as it was");
  copy = first;
  first->clear();
  EXPECT_EQ(*copy, "changed");
  EXPECT_FALSE(copy == first);
}

TEST(BoxedTest, IsAssignedToItself) {
  Boxed<std::string> value(std::string("the same"));
  const Boxed<std::string>& again = value;
  value = again;
  EXPECT_EQ(*value, "the same");
}

TEST(BoxedTest, WhatWasMovedFromIsCopiedAndAssigned) {
  Boxed<std::string> first(std::string("text"));
  Boxed<std::string> second = std::move(first);
  EXPECT_EQ(*second, "text");
  const Boxed<std::string> copy = first;  // NOLINT(bugprone-use-after-move): that it can be.
  first = second;
  EXPECT_EQ(*first, "text");
}

}  // namespace
}  // namespace berth
