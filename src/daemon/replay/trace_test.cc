// SPDX-License-Identifier: Apache-2.0
#include "replay/trace.h"

#include <gtest/gtest.h>

#include <string>

namespace berth::replay {
namespace {

constexpr const char* kHead =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\n";

std::vector<Task> read(const std::string& lines) {
  Result<std::vector<Task>> tasks = parse_trace(kHead + lines, gib(16));
  EXPECT_TRUE(tasks.ok()) << (tasks.ok() ? "" : tasks.error().message);
  return tasks.ok() ? *std::move(tasks) : std::vector<Task>{};
}
std::string wrong(const std::string& text) {
  const Result<std::vector<Task>> tasks = parse_trace(text, gib(16));
  return tasks.ok() ? "" : tasks.error().message;
}

TEST(Trace, AShareOfAGpuIsThatOfItsMemory) {
  const std::vector<Task> tasks = read("a,1,1,1,500,,LS,Running,10,400,100\n");
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0].request.share, Share::kBudget);
  EXPECT_EQ(tasks[0].request.vram.value, gib(16).value / 1'000 * 500);
  EXPECT_EQ(tasks[0].arrives, (Instant{seconds(10).ns}));
  EXPECT_EQ(tasks[0].runs, seconds(300));
}

TEST(Trace, AWholeGpuAndSeveralAreExclusive) {
  const std::vector<Task> tasks =
      read("a,1,1,1,1000,,LS,Running,1,2,1\nb,1,1,4,1000,,LS,Running,1,2,1\n");
  EXPECT_EQ(tasks[0].request.share, Share::kExclusive);
  EXPECT_EQ(tasks[0].request.device_count, 1U);
  EXPECT_EQ(tasks[1].request.share, Share::kExclusive);
  EXPECT_EQ(tasks[1].request.device_count, 4U);
}

TEST(Trace, TasksThatUseNoGpuAreLeftOut) {
  const std::vector<Task> tasks =
      read("a,1,1,0,0,,LS,Running,1,2,1\nb,1,1,1,500,,LS,Running,7,8,7\n");
  ASSERT_EQ(tasks.size(), 1U);
  EXPECT_EQ(tasks[0].arrives, (Instant{seconds(7).ns}));
}

TEST(Trace, ClassesOfServiceArePriorities) {
  const std::vector<Task> tasks = read(
      "a,1,1,1,9,,LS,Running,1,2,1\nb,1,1,1,9,,Guaranteed,Running,1,2,1\n"
      "c,1,1,1,9,,Burstable,Running,1,2,1\nd,1,1,1,9,,BE,Running,1,2,1\n");
  EXPECT_EQ(tasks[0].request.priority, Priority::kHigh);
  EXPECT_EQ(tasks[1].request.priority, Priority::kHigh);
  EXPECT_EQ(tasks[2].request.priority, Priority::kNormal);
  EXPECT_EQ(tasks[3].request.priority, Priority::kLow);
}

TEST(Trace, TasksAreSortedByArrivalWhicheverOrderTheyStandIn) {
  const std::vector<Task> tasks =
      read("a,1,1,1,9,,LS,Running,20,30,20\n\nb,1,1,1,9,,LS,Running,10,11,10\r\n");
  ASSERT_EQ(tasks.size(), 2U);
  EXPECT_LT(tasks[0].arrives, tasks[1].arrives);
}

TEST(Trace, OneThatWasNeverScheduledRunsTenMinutes) {
  EXPECT_EQ(read("a,1,1,1,9,,LS,Pending,20,,\n")[0].runs, minutes(10));
}

TEST(Trace, WhoseTaskItIsMayBeNamed) {
  const Result<std::vector<Task>> tasks = parse_trace(
      "user,num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time\n1001,1,9,1,2,1\n",
      gib(16));
  ASSERT_TRUE(tasks.ok());
  EXPECT_EQ((*tasks)[0].user, UserId{1001});
}

TEST(Trace, AnErrorNamesTheLineAndTheValue) {
  EXPECT_EQ(wrong(std::string(kHead) + "a,1,1,1,9,,LS,Running,1,2,1\na,1,1,99,9,,LS,R,1,2,1\n"),
            "line 3: num_gpu '99' is no whole number from 0 to 16: mend the line, or take it out");
  EXPECT_EQ(wrong(std::string(kHead) + "a,1,1,1,9,,LS,R,\033[1m,2,1\n"),
            "line 2: creation_time '?[1m' is no number of seconds: mend the line, or take it out");
  EXPECT_EQ(wrong(std::string(kHead) + "a,1,1,1,9,,LS,R,1,2,3\n"),
            "line 2: deletion_time is before scheduled_time");
  EXPECT_EQ(wrong("name,num_gpu\n"),
            "line 1: there is no column 'gpu_milli': a trace begins with a line that names its "
            "columns");
  EXPECT_EQ(wrong(kHead), "no task in it uses a GPU");
  EXPECT_EQ(wrong(""), "no task in it uses a GPU");
}

TEST(Trace, WhatIsLongerThanTheBoundsIsRefused) {
  EXPECT_EQ(wrong(std::string(kHead) + std::string(5'000, 'a')),
            "line 2: it has more than 4096 bytes");
  std::string many = kHead;
  for (std::size_t i = 0; i <= kTasksMax; ++i) many += "a,1,1,1,9,,LS,R,1,2,1\n";
  EXPECT_EQ(wrong(many), "line 100002: a trace has at most 100000 tasks: give a part of it");
}

}  // namespace
}  // namespace berth::replay
