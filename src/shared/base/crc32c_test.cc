// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// RFC 3720, B.4, and the value that every catalogue of CRCs checks with.
TEST(Crc32c, ValuesOfTheStandard) {
  std::string ascending;
  for (char c = 0; c < 32; ++c) ascending += c;
  for (const auto crc : {crc32c, crc32c_by_table}) {
    EXPECT_EQ(crc({}, 0), 0);
    EXPECT_EQ(crc(bytes_of("123456789"), 0), 0xE3069283);
    EXPECT_EQ(crc(bytes_of(std::string(32, '\0')), 0), 0x8A9136AA);
    EXPECT_EQ(crc(bytes_of(std::string(32, '\xFF')), 0), 0x62A8AB43);
    EXPECT_EQ(crc(bytes_of(ascending), 0), 0x46DD794E);
  }
}

TEST(Crc32c, InstructionAndTableAgreeAtEachLengthAndPlace) {
  std::vector<std::byte> bytes(100'000);
  std::uint32_t seed = 1;
  for (std::byte& byte : bytes) {
    seed = seed * 1'664'525 + 1'013'904'223;
    byte = static_cast<std::byte>(seed >> 24U);
  }
  const std::span<const std::byte> all(bytes);
  for (std::size_t length = 0; length < all.size(); length += 1 + length / 7) {
    for (std::size_t start = 0; start < 9 && start + length <= all.size(); start += 4) {
      const auto part = all.subspan(start, length);
      EXPECT_EQ(crc32c(part), crc32c_by_table(part)) << start << " " << length;
    }
  }
  for (const std::size_t cut : {1UL, 4'096UL, 12'288UL, 99'999UL}) {
    EXPECT_EQ(crc32c(all.subspan(cut), crc32c(all.first(cut))), crc32c_by_table(all)) << cut;
  }
}

}  // namespace
}  // namespace berth
