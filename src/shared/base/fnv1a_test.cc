// SPDX-License-Identifier: Apache-2.0
#include "base/fnv1a.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

// The figures are those of the authors' list of test vectors.
TEST(Fnv1a, IsAsItsAuthorsWroteIt) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325U);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8U);
  EXPECT_EQ(fnv1a("bar", fnv1a("foo")), fnv1a("foobar"));
}

}  // namespace
}  // namespace berth
