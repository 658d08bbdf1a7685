// SPDX-License-Identifier: Apache-2.0
#include "guard/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace berth::guard {
namespace {

std::vector<int> read(const char* text) {
  std::uint8_t uuid[16] = {};
  if (!read_uuid(text, uuid)) return {};
  return {std::begin(uuid), std::end(uuid)};
}

TEST(Text, AUuidIsReadAsNvmlWritesIt) {
  const std::vector<int> expected = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                     0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
  EXPECT_EQ(read("GPU-00112233-4455-6677-8899-aabbccddeeff"), expected);
  EXPECT_EQ(read("MIG-00112233-4455-6677-8899-AABBCCDDEEFF"), expected);
}

TEST(Text, EndsWithWhatStandsLast) {
  EXPECT_TRUE(ends_with("cuGraphLaunch_ptsz", "_ptsz"));
  EXPECT_TRUE(ends_with("_ptsz", "_ptsz"));
  EXPECT_FALSE(ends_with("cuGraphLaunch", "_ptsz"));
  EXPECT_FALSE(ends_with("ptsz", "_ptsz"));
}

TEST(Text, WhatIsNoUuidIsNone) {
  for (const char* text :
       {"", "GPU", "GPU-", "GPU-0011", "GPU-00112233-4455-6677-8899-aabbccddeef",
        "GPU-00112233-4455-6677-8899-aabbccddeeff0", "GPU-00112233-4455-6677-8899-aabbccddeefg",
        "MIG-GPU-00112233-4455-6677-8899-aabbccddeeff/1/0"}) {
    EXPECT_THAT(read(text), ::testing::IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace berth::guard
