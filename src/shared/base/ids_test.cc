// SPDX-License-Identifier: Apache-2.0
#include "base/ids.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Ids, HandlesReadBackWhatTheyWrite) {
  for (const Handle handle : {Handle{0, 0}, Handle{~0ULL, ~0ULL}, Handle{0x0123456789abcdef, 42}}) {
    const std::string text = to_text(handle);
    EXPECT_EQ(text.size(), 28u);
    EXPECT_EQ(parse_handle(text), handle);
  }
  for (const char* text : {"", "l_", "l_aaaaaaaaaaaaaaaaaaaaaaaaa1", "x_aaaaaaaaaaaaaaaaaaaaaaaaaa",
                           "l_aaaaaaaaaaaaaaaaaaaaaaaaab", "l_aaaaaaaaaaaaaaaaaaaaaaaaaaa"}) {
    EXPECT_EQ(parse_handle(text), std::nullopt) << text;
  }
}

TEST(Ids, DeviceIdsAreWrittenAsTheDriverWritesThem) {
  const std::string text = "GPU-5a1c0d2e-0123-4567-89ab-cdef01234567";
  const std::optional<DeviceId> device = parse_device_id(text);
  ASSERT_TRUE(device);
  EXPECT_EQ(to_text(*device), text);
  EXPECT_TRUE(parse_device_id("MIG-5a1c0d2e-0123-4567-89ab-cdef01234567")->mig);
  for (const char* wrong :
       {"", "GPU-", "0", "GPU-5a1c0d2e-0123-4567-89ab-cdef0123456",
        "GPU-5a1c0d2e0-123-4567-89ab-cdef01234567", "GPU-5a1c0d2e-0123-4567-89ab-cdef0123456g"}) {
    EXPECT_EQ(parse_device_id(wrong), std::nullopt) << wrong;
  }
}

TEST(Ids, AUuidsFirstByteIsTheFirstOfItsText) {
  const std::array<std::uint8_t, 16> bytes = {0x5a, 0x1c, 0x0d, 0x2e, 0x01, 0x23, 0x45, 0x67,
                                              0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67};
  EXPECT_EQ(uuid_bytes(parse_device_id("GPU-5a1c0d2e-0123-4567-89ab-cdef01234567").value()), bytes);
}

}  // namespace
}  // namespace berth
