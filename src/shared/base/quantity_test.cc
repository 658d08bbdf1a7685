// SPDX-License-Identifier: Apache-2.0
#include "base/quantity.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(Quantity, SizesAreReadAsPeopleWriteThem) {
  struct Row {
    const char* text;
    std::uint64_t bytes;
  };
  for (const Row& row :
       {Row{"8G", 8ULL << 30},
        {"8GiB", 8ULL << 30},
        {"8g", 8ULL << 30},
        {"8GB", 8'000'000'000},
        {"1.5 GiB", 3ULL << 29},
        {"512M", 512ULL << 20},
        {"1048576", 1 << 20},
        {"0", 0},
        {"9007199254740993b", 9'007'199'254'740'993},  // Beyond what a double can hold.
        {"17b", 17},
        {".5K", 512}}) {
    const Result<Bytes> bytes = parse_bytes(row.text);
    ASSERT_TRUE(bytes.ok()) << row.text;
    EXPECT_EQ(bytes->value, row.bytes) << row.text;
  }
}

TEST(Quantity, WhatIsNoSizeIsRefusedWithItsText) {
  for (const char* text : {"", "G", "-8G", "+8G", "8X", "8GG", "8G 4", "1e3", "0x10", "nan",
                           "8 G B", "99999999999999999999", "5000000T", "1..5G"}) {
    const Result<Bytes> bytes = parse_bytes(text);
    ASSERT_FALSE(bytes.ok()) << text;
    EXPECT_NE(bytes.error().message.find("'" + std::string(text) + "'"), std::string::npos);
  }
}

TEST(Quantity, DurationsAreReadAsPeopleWriteThem) {
  EXPECT_EQ(*parse_duration("90"), seconds(90));
  EXPECT_EQ(*parse_duration("90s"), seconds(90));
  EXPECT_EQ(*parse_duration("5m"), minutes(5));
  EXPECT_EQ(*parse_duration("2h30m"), minutes(150));
  EXPECT_EQ(*parse_duration("2h 30m"), minutes(150));
  EXPECT_EQ(*parse_duration("250ms"), milliseconds(250));
  EXPECT_EQ(*parse_duration("1.5h"), minutes(90));
  EXPECT_EQ(*parse_duration("1d"), hours(24));
}

TEST(Quantity, WhatIsNoDurationIsRefused) {
  for (const char* text : {"", "s", "-5s", "5x", "5m3", "3 5", "1e3s", "101000d", "inf"}) {
    EXPECT_FALSE(parse_duration(text).ok()) << text;
  }
}

TEST(Quantity, OutputNamesItsUnit) {
  EXPECT_EQ(to_text(Bytes{17}), "17 B");
  EXPECT_EQ(to_text(kib(4)), "4.0 KiB");
  EXPECT_EQ(to_text(mib(512)), "512 MiB");
  EXPECT_EQ(to_text(gib(8)), "8.0 GiB");
  EXPECT_EQ(to_text(Bytes{(1ULL << 30) - 1}), "1.0 GiB");
  EXPECT_EQ(to_text(milliseconds(250)), "250 ms");
  EXPECT_EQ(to_text(seconds(42)), "42 s");
  EXPECT_EQ(to_text(seconds(187)), "3m07s");
  EXPECT_EQ(to_text(minutes(125)), "2h05m");
  EXPECT_EQ(to_text(hours(76)), "3d04h");
  EXPECT_EQ(to_text(minutes(10)), "10m");
  EXPECT_EQ(to_text(hours(1)), "1h");
  EXPECT_EQ(to_text(hours(1) + seconds(59)), "1h");
  EXPECT_EQ(to_text(hours(744)), "31d");
  EXPECT_EQ(to_text(UnixMs{1770470100123}), "2026-02-07T13:15:00.123Z");
  EXPECT_EQ(to_text(UnixMs{0}), "1970-01-01T00:00:00.000Z");
}

TEST(Quantity, AdditionAndSubtractionSaturate) {
  EXPECT_EQ(Bytes::max() + Bytes{1}, Bytes::max());
  EXPECT_EQ(saturating_sub(Bytes{1}, Bytes{2}), Bytes{0});
  EXPECT_EQ(Instant::never() + seconds(1), Instant::never());
}

}  // namespace
}  // namespace berth
