// SPDX-License-Identifier: Apache-2.0
#include "cli/render/waiting_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/render/sample_test.h"

namespace berth::cli {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

TEST(WaitingLines, TheShortestTellsWhatIsFreeAndWhoHoldsTheRest) {
  const auto lines = waiting_lines(sample::waiting().request, sample::why(), sample::context());
  ASSERT_EQ(lines.size(), 8u);
  EXPECT_THAT(lines[0], EndsWith("Ctrl-C to leave."));
  EXPECT_THAT(lines[1], HasSubstr("waiting for 6.0 GiB on any GPU"));
  const std::string least = "GPU 0: 1.4 GiB of 6.0 GiB free; me/hybrid-train holds 11.0 GiB";
  EXPECT_EQ(lines[2], "waiting, " + least + ", ~14 min");
  EXPECT_EQ(lines[3], least + ", ~14 min");
  EXPECT_EQ(lines[4], "waiting, " + least);
  EXPECT_EQ(lines[5], least);
  EXPECT_EQ(lines[6], "GPU 0: 1.4 GiB of 6.0 GiB free; lease 12 holds 11.0 GiB");
  EXPECT_EQ(lines[7], "GPU 0: 1.4 GiB of 6.0 GiB free");
  EXPECT_LT(std::string("berth: ").size() + lines[3].size(), 80u);  // As wide as a new terminal.
}

TEST(WaitingLines, OnSeveralGpusTheHolderIsOneOnTheGpuThatIsNamed) {
  const WhyView why = sample::why_on_two();
  const auto lines = waiting_lines(sample::waiting().request, why, sample::context());
  EXPECT_THAT(lines[0], HasSubstr("0 of 2 GPUs free; GPU 0 has 1.4 GiB free "
                                  "(guest/self-hosted holds 3.0 GiB)"));
  EXPECT_EQ(lines.end()[-3], "GPU 0: 1.4 GiB of 6.0 GiB free; guest/self-hosted holds 3.0 GiB");
}

TEST(WaitingLines, OfTheGpusTheOneThatLacksRoomIsNamed) {
  WhyView why = sample::why_on_two();
  why.devices_fitting = 1;
  const auto lines = waiting_lines(sample::waiting().request, why, sample::context());
  EXPECT_EQ(lines.end()[-3], "GPU 1: 1.4 GiB of 6.0 GiB free; me/hybrid-train holds 11.0 GiB");
  why.holders[0].devices.push_back({.device = sample::kDevice, .charged = gib(9)});
  why.holders[0].charged = gib(20);
  EXPECT_EQ(waiting_lines(sample::waiting().request, why, sample::context()), lines);
}

// The reasons that name a lease or user, and how their short lines begin.
TEST(WaitingLines, ForOtherReasonsTheShortOnesSayWhoIsInTheWayToo) {
  using Reason = WhyView::Reason;
  Request whole = sample::waiting().request;
  whole.share = Share::kExclusive;
  const auto shorter = [](const Request& request, Reason reason) {
    WhyView why = sample::why();
    why.reason = reason;
    why.ahead = {{4}, {5}};
    why.ahead_count = 2;
    why.shortages[0].unmanaged = gib(9);
    const auto lines = waiting_lines(request, why, sample::context());
    EXPECT_LT(std::string("berth: ").size() + lines[2].size(), 80u) << lines[2];
    return lines;
  };
  const Request part = sample::waiting().request;
  EXPECT_EQ(shorter(whole, Reason::kExclusive)[2],
            "waiting, GPU 0 has other leases; me/hybrid-train holds 11.0 GiB, ~14 min");
  EXPECT_EQ(shorter(whole, Reason::kExclusive).end()[-2],
            "GPU 0 has other leases; lease 12 holds 11.0 GiB");
  EXPECT_THAT(shorter(whole, Reason::kExclusive)[1],
              HasSubstr("GPU 0 has other leases (me/hybrid-train holds 11.0 GiB, ~14 min left)"));
  EXPECT_EQ(shorter(part, Reason::kExclusive)[4],
            "waiting, GPU 0 is held whole; me/hybrid-train holds 11.0 GiB");
  EXPECT_EQ(shorter(part, Reason::kUserLimit)[4],
            "waits for its user's limit; me/hybrid-train holds 11.0 GiB");
  EXPECT_EQ(shorter(part, Reason::kSlices)[4],
            "others have their turn on GPU 0; me/hybrid-train holds 11.0 GiB");
  EXPECT_EQ(shorter(part, Reason::kUnmanaged)[2], "processes outside Berth use 9.0 GiB of GPU 0");
  EXPECT_EQ(shorter(part, Reason::kTurn)[2], "waits for its turn, 2 ahead; before it: 4 and 5");
  EXPECT_EQ(shorter(part, Reason::kProbing)[2], "waits until freed memory is seen");
}

}  // namespace
}  // namespace berth::cli
