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
  const auto lines = waiting_lines(sample::waiting().request, sample::why(), sample::scene());
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(lines[0], EndsWith("Ctrl-C to leave."));
  EXPECT_THAT(lines[1], HasSubstr("waiting for 6.0 GiB on any GPU"));
  const std::string least = "GPU 0: 1.4 GiB of 6.0 GiB free; me/hybrid-train holds 11.0 GiB";
  EXPECT_EQ(lines[2], "waiting, " + least + ", ~14 min");
  EXPECT_EQ(lines[3], "waiting, " + least);
  EXPECT_EQ(lines[4], least);
  EXPECT_LT(std::string("berth: ").size() + lines[3].size(), 80u);  // As wide as a new terminal.
}

TEST(WaitingLines, OnSeveralGpusTheHolderIsOneOnTheGpuThatIsNamed) {
  const WhyView why = sample::why_on_two();
  const auto lines = waiting_lines(sample::waiting().request, why, sample::scene());
  EXPECT_THAT(lines[0], HasSubstr("0 of 2 GPUs free; GPU 0 has 1.4 GiB free "
                                  "(guest/self-hosted holds 3.0 GiB)"));
  EXPECT_EQ(lines.back(), "GPU 0: 1.4 GiB of 6.0 GiB free; guest/self-hosted holds 3.0 GiB");
}

TEST(WaitingLines, OfTheGpusTheOneThatLacksRoomIsNamed) {
  WhyView why = sample::why_on_two();
  why.devices_fitting = 1;
  const auto lines = waiting_lines(sample::waiting().request, why, sample::scene());
  EXPECT_EQ(lines.back(), "GPU 1: 1.4 GiB of 6.0 GiB free; me/hybrid-train holds 11.0 GiB");
  why.holders[0].devices.push_back({.device = sample::kDevice, .charged = gib(9)});
  why.holders[0].charged = gib(20);
  EXPECT_EQ(waiting_lines(sample::waiting().request, why, sample::scene()).back(), lines.back());
}

TEST(WaitingLines, ForOtherReasonsThereIsNoShorterOne) {
  WhyView why = sample::why();
  why.reason = WhyView::Reason::kTurn;
  EXPECT_EQ(waiting_lines(sample::waiting().request, why, sample::scene()).size(), 2u);
}

}  // namespace
}  // namespace berth::cli
