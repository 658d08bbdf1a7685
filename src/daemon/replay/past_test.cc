// SPDX-License-Identifier: Apache-2.0
#include "replay/past.h"

#include <gtest/gtest.h>

namespace berth::replay {
namespace {

TEST(PastTasks, AreLeasesByTheTimeOfTheirRequest) {
  const std::vector<history::Session> sessions = {
      {.id = {2},
       .user = {7},
       .session = "b",
       .share = Share::kExclusive,
       .devices = 2,
       .granted = gib(32),
       .queued = {5'000},
       .started = {6'000},
       .ended = UnixMs{9'000}},
      {.id = {1}, .devices = 2, .granted = gib(8), .queued = {1'000}, .started = {1'000}}};
  const std::vector<Task> tasks = tasks_of(sessions, {11'000});
  ASSERT_EQ(tasks.size(), 2U);
  EXPECT_EQ(tasks[0].arrives, Instant{});
  EXPECT_EQ(tasks[0].runs, seconds(10)) << "it has not ended";
  EXPECT_EQ(tasks[0].request.vram, gib(4)) << "on each of two";
  EXPECT_EQ(tasks[1].arrives, (Instant{seconds(4).ns}));
  EXPECT_EQ(tasks[1].runs, seconds(3));
  EXPECT_EQ(tasks[1].request.share, Share::kExclusive);
  EXPECT_EQ(tasks[1].request.device_count, 2U);
  EXPECT_EQ(tasks[1].request.session, "b");
  EXPECT_EQ(tasks[1].user, UserId{7});
  EXPECT_TRUE(tasks_of({}, {0}).empty());
}

}  // namespace
}  // namespace berth::replay
