// SPDX-License-Identifier: Apache-2.0
#include "deliver/signature.h"

#include <gtest/gtest.h>

namespace berth::deliver {
namespace {

// By: printf '%s' '17-3.1790000000.{"text":"x"}' | openssl dgst -sha256 -hmac 'a secret'
TEST(Signature, IsWhatOthersCompute) {
  EXPECT_EQ(sign("a secret", {.id = "17-3", .time = 1'790'000'000, .body = "{\"text\":\"x\"}"}),
            "723fa29aee5a926f2c43f88bde5dcc0f6a3f1a12e9b950ff822e4021b6ecca11");
}

TEST(Signature, DependsOnEachPart) {
  const std::string whole = sign("s", {.id = "1", .time = 2, .body = "b"});
  EXPECT_NE(sign("t", {.id = "1", .time = 2, .body = "b"}), whole);
  EXPECT_NE(sign("s", {.id = "2", .time = 2, .body = "b"}), whole);
  EXPECT_NE(sign("s", {.id = "1", .time = 3, .body = "b"}), whole);
  EXPECT_NE(sign("s", {.id = "1", .time = 2, .body = "c"}), whole);
}

}  // namespace
}  // namespace berth::deliver
