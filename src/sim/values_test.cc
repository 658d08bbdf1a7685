// SPDX-License-Identifier: Apache-2.0
#include "sim/values.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "sim/context.h"

namespace berth::sim {
namespace {

constexpr LeaseId kLarge{1};
constexpr LeaseId kSmall{2};

class Values : public testing::Test {
 protected:
  Values() {
    observations.settings.order = Order::kValue;
    ask(kLarge, {.share = Share::kExclusive});
    ask(kSmall, {.vram = gib(8)});
  }
  void ask(LeaseId id, Request request) {
    EXPECT_EQ(observations.journal.apply(
                  {++sequence, at, {5}, RequestQueued{id, {0, id.value}, {1000}, {}, request}},
                  context.coverage),
              "");
    at = at + seconds(1);
  }
  std::string broken(const std::vector<LeaseId>& queue) const {
    return check_value_order(observations, queue);
  }

  SimContext context{1, false};
  Processes processes{context, 0};
  Devices devices{context, processes, {}, {}};
  Observations observations{
      .devices = devices, .processes = processes, .reserve_least = Bytes::max()};
  std::uint64_t sequence = 0;
  Instant at{seconds(1'000).ns};
};

TEST_F(Values, TheQueueIsInTheOrderInWhichRequestsAreDue) {
  EXPECT_EQ(broken({kSmall, kLarge}), "");
  EXPECT_NE(broken({kLarge, kSmall}), "");
}

TEST_F(Values, AnotherOrderIsNotJudged) {
  observations.settings.order = Order::kFifo;
  EXPECT_EQ(broken({kLarge, kSmall}), "");
}

TEST_F(Values, LeaveToBeStoppedCounts) {
  ask({3}, {.share = Share::kExclusive, .may_yield = true});
  EXPECT_EQ(broken({{3}, kLarge}), "");
  EXPECT_NE(broken({kLarge, {3}}), "");
}

}  // namespace
}  // namespace berth::sim
