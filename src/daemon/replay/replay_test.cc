// SPDX-License-Identifier: Apache-2.0
#include "replay/replay.h"

#include <gtest/gtest.h>

#include "replay/figures.h"

namespace berth::replay {
namespace {

constexpr Machine kOne{.devices = 1, .capacity = gib(16)};

Task task(std::int64_t arrives, std::int64_t runs, Bytes vram,
          Priority priority = Priority::kNormal) {
  Request request{.priority = priority, .vram = vram};
  return {.arrives = {seconds(arrives).ns},
          .runs = seconds(runs),
          .request = std::move(request),
          .user = {1}};
}
Played fifo(const std::vector<Task>& tasks, const Machine& machine = kOne) {
  return play(tasks, machine, settings_for(Order::kFifo));
}

TEST(Replay, WhatFitsStartsAtOnceAndTheRestWhenItsMemoryIsFree) {
  const Played played = fifo({task(0, 100, gib(10)), task(10, 50, gib(6)), task(20, 30, gib(10))});
  EXPECT_EQ(played.waited[0], Duration{});
  EXPECT_EQ(played.waited[1], Duration{});
  EXPECT_EQ(played.waited[2], seconds(80));
  EXPECT_EQ(played.span, seconds(130));
}

TEST(Replay, TheOrderIsThatOfTheSettings) {
  const std::vector<Task> tasks = {task(0, 100, gib(10)), task(10, 50, gib(10)),
                                   task(20, 50, gib(10), Priority::kUrgent)};
  EXPECT_EQ(fifo(tasks).waited[1], seconds(90));
  EXPECT_EQ(play(tasks, kOne, settings_for(Order::kPriority)).waited[2], seconds(80));
}

TEST(Replay, OneThatFitsOnNoSuchMachineIsRefusedAndHoldsUpNobody) {
  const std::vector<Task> tasks = {task(0, 10, gib(20)), task(1, 10, gib(4))};
  const Played played = fifo(tasks);
  EXPECT_FALSE(played.waited[0]);
  EXPECT_EQ(played.waited[1], Duration{});
  EXPECT_EQ(figures_of(Order::kFifo, tasks, kOne, played).refused, 1U);
}

TEST(Replay, TheSameTasksGiveTheSameFigures) {
  std::vector<Task> tasks;
  for (int i = 0; i < 200; ++i) {
    tasks.push_back(task(i, 5 + i * 7 % 60, gib(1 + static_cast<std::uint64_t>(i) * 5 % 15)));
  }
  EXPECT_EQ(fifo(tasks).waited, fifo(tasks).waited);
}

TEST(Replay, NothingComesOfNoTasks) {
  EXPECT_EQ(fifo({}).span, Duration{});
}

TEST(Replay, ShorterTasksKeepTheirArrival) {
  std::vector<Task> tasks = {task(7, 100, gib(1))};
  shorten(tasks, 10);
  EXPECT_EQ(tasks[0].arrives, (Instant{seconds(7).ns}));
  EXPECT_EQ(tasks[0].runs, seconds(10));
  tell_times(tasks);
  EXPECT_EQ(tasks[0].request.eta, seconds(10));
}

TEST(Figures, AreThoseOfAllAndOfEachPriority) {
  const std::vector<Task> tasks = {task(0, 100, gib(16)), task(0, 100, gib(16), Priority::kLow)};
  const Figures figures = figures_of(Order::kFifo, tasks, kOne, fifo(tasks));
  EXPECT_EQ(figures.all.tasks, 2U);
  EXPECT_EQ(figures.all.mean, seconds(50));
  EXPECT_EQ(figures.all.p95, seconds(100));
  ASSERT_EQ(figures.classes.size(), 2U);
  EXPECT_EQ(figures.classes[0].priority, Priority::kNormal);
  EXPECT_EQ(figures.classes[0].waits.mean, Duration{});
  EXPECT_EQ(figures.classes[1].waits.mean, seconds(100));
  EXPECT_DOUBLE_EQ(figures.classes[1].waits.slowdown_mean, 2);
  EXPECT_DOUBLE_EQ(figures.memory_part, 1);
  EXPECT_DOUBLE_EQ(figures.tasks_per_hour, 36);
}

TEST(Figures, ATaskOfAMomentIsNotSlowedByAThousand) {
  const std::vector<Task> tasks = {task(0, 20, gib(16)), task(0, 1, gib(16))};
  const Figures figures = figures_of(Order::kFifo, tasks, kOne, fifo(tasks));
  EXPECT_DOUBLE_EQ(figures.all.slowdown_p95, 2.1);
}

}  // namespace
}  // namespace berth::replay
