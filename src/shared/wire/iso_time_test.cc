// SPDX-License-Identifier: Apache-2.0
#include "wire/iso_time.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "base/quantity.h"

namespace berth::wire {
namespace {

TEST(IsoTime, ReadsWhatIsWritten) {
  EXPECT_EQ(parse_time("1970-01-01T00:00:00.000Z"), UnixMs{0});
  EXPECT_EQ(parse_time("2026-02-07T13:15:00.123Z"), UnixMs{1'770'470'100'123});
  EXPECT_EQ(parse_time("2000-02-29T23:59:59.999Z"), UnixMs{951'868'799'999});
  constexpr std::int64_t kFrom = -62'167'219'200'000;  // Year 0.
  constexpr std::int64_t kTo = 253'402'300'799'999;    // Year 9999.
  constexpr std::int64_t kStep = 86'399'999LL * 131;
  for (std::int64_t ms = kFrom; ms <= kTo; ms += kStep) {
    ASSERT_EQ(parse_time(to_text(UnixMs{ms})), UnixMs{ms}) << to_text(UnixMs{ms});
  }
  EXPECT_EQ(parse_time(to_text(UnixMs{kTo})), UnixMs{kTo});
}

TEST(IsoTime, ReadsNothingElse) {
  for (const std::string_view text :
       {"", "now", "2026-02-07", "2026-02-07T13:15:00Z", "2026-02-07T13:15:00.123",
        "2026-02-07T13:15:00.123+00:00", "2026-02-07 13:15:00.123Z", "2026-13-07T13:15:00.123Z",
        "2026-00-07T13:15:00.123Z", "2026-02-29T13:15:00.123Z", "2100-02-29T13:15:00.123Z",
        "2026-02-00T13:15:00.123Z", "2026-04-31T13:15:00.123Z", "2026-02-07T24:15:00.123Z",
        "2026-02-07T13:60:00.123Z", "2026-02-07T13:15:60.123Z", "+026-02-07T13:15:00.123Z",
        "2026-02-07T13:15:00.12xZ", "2026-02-07T13:15:00.1234Z"}) {
    EXPECT_EQ(parse_time(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace berth::wire
