// SPDX-License-Identifier: Apache-2.0
#include "sim/fairness.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/context.h"

namespace berth::sim {
namespace {

constexpr LeaseId kRan{1};
constexpr LeaseId kFirst{2};
constexpr LeaseId kSecond{3};
constexpr LeaseId kAgain{4};

/// One user. The session that ran has had a little more than a grant counts at once for the other,
/// of which two requests wait: so both of these come first, and a moment later only one.
class FairnessTest : public testing::Test {
 protected:
  FairnessTest() {
    observations.settings.order = Order::kFair;
    ask(kRan, "ran", gib(8));
    write(LeaseGranted{kRan, {{DeviceId{1, 1, false}, gib(8)}}, false});
    ask(kFirst, "other", gib(4));
    ask(kSecond, "other", gib(4));
    ask(kAgain, "ran", gib(4));
    at = at + milliseconds(30'088);
    write(LeaseReleasing{kRan, EndResult::kOk});
  }
  void ask(LeaseId id, const std::string& session, Bytes vram) {
    write(RequestQueued{id, {0, id.value}, {1000}, {}, {.session = session, .vram = vram}});
  }
  void write(Fact fact) {
    fairness.advance(observations.journal, at);
    EXPECT_EQ(observations.journal.apply({++sequence, at, {5}, std::move(fact)}, context.coverage),
              "");
  }
  std::string broken(const std::vector<LeaseId>& queue, Duration later = {}) const {
    return fairness.check_order(observations, queue, at + later);
  }

  SimContext context{1, false};
  Processes processes{context, 0};
  Devices devices{context, processes, {}, {}};
  Observations observations{
      .devices = devices, .processes = processes, .reserve_least = Bytes::max()};
  Fairness fairness;
  std::uint64_t sequence = 0;
  Instant at{seconds(1'000).ns};
};

TEST_F(FairnessTest, WhoHasHadLessComesFirst) {
  EXPECT_EQ(broken({kFirst, kSecond, kAgain}), "");
  EXPECT_NE(broken({kAgain, kFirst, kSecond}), "");
}

// What was had is forgotten all the while, and the coordinator need not look more than once a
// second.
TEST_F(FairnessTest, AnOrderMayBeASecondOldAndNoMore) {
  EXPECT_EQ(broken({kFirst, kSecond, kAgain}, milliseconds(900)), "");
  EXPECT_NE(broken({kFirst, kSecond, kAgain}, seconds(3)), "");
  EXPECT_EQ(broken({kFirst, kAgain, kSecond}, seconds(3)), "");
}

}  // namespace
}  // namespace berth::sim
