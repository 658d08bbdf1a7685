// SPDX-License-Identifier: Apache-2.0
#include "vram/manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace berth::vram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A program of which each step uses so much, and what it does when it is asked to do something.
class Program {
 public:
  explicit Program(const Settings& settings = {}) : manager(settings) {}

  // What was asked for in a step at which so much of 16 GiB was used.
  std::vector<Action> step(Bytes used) {
    at = at + seconds(1);
    use = used;
    manager.step(now(), sample());
    return go_on();
  }
  std::vector<Action> go_on() {
    std::vector<Action> asked;
    while (const auto action = manager.next(now())) {
      asked.push_back(*action);
      const Bytes before = use;
      if (*action == Action::kCleanup) use = saturating_sub(use, frees);
      const auto known = outcomes.find(*action);
      const Outcome outcome = known == outcomes.end() ? Outcome::kDone : known->second;
      manager.done(now(), *action, outcome, *action == Action::kCleanup ? sample() : Sample{},
                   saturating_sub(before, use));
      if (asked.size() > 20) break;
    }
    return asked;
  }
  std::vector<std::string> events(Event::Kind kind) {
    std::vector<std::string> texts;
    while (const auto event = manager.take_event()) {
      if (event->kind == kind) texts.push_back(event->text);
    }
    return texts;
  }
  Now now() const { return {at, UnixMs{1}}; }
  Sample sample() const { return {.used = use, .whole = gib(16), .own = {}, .host = {}}; }

  Manager manager;
  Instant at = {1};
  Bytes use;
  Bytes frees;  // By a cleanup.
  std::map<Action, Outcome> outcomes;
};

TEST(Manager, NothingIsDoneWhereNothingIsDue) {
  Program program;
  for (int i = 0; i < 100; ++i) EXPECT_THAT(program.step(gib(8)), IsEmpty());
  EXPECT_EQ(program.manager.level(), Level::kNormal);
  EXPECT_EQ(program.manager.counts().steps, 100U);
  EXPECT_FALSE(program.manager.take_event());
}

TEST(Manager, WarnsOnceForEachRise) {
  Program program;
  program.step(gib(8));
  for (int i = 0; i < 10; ++i) program.step(gib(11));
  EXPECT_THAT(program.events(Event::Kind::kLevel),
              ElementsAre(HasSubstr("warn: 11.0 GiB of 16.0 GiB")));
  program.step(gib(8));
  program.step(gib(11));
  EXPECT_THAT(program.events(Event::Kind::kLevel),
              ElementsAre(HasSubstr("normal"), HasSubstr("warn")));
}

TEST(Manager, WhatWasNotMeasuredDecidesNothing) {
  Program program;
  program.manager.step(program.now(), {});
  EXPECT_THAT(program.go_on(), IsEmpty());
  EXPECT_EQ(program.manager.level(), Level::kUnknown);
  EXPECT_THAT(program.manager.status_line(), HasSubstr("VRAM: unknown"));
  program.step(gib(15));
  program.manager.step(program.now(), {});  // The next step is not measured,
  EXPECT_THAT(program.go_on(), IsEmpty());  // so nothing harder follows yet.
}

TEST(Manager, CleansUpEachSoManySteps) {
  Program program({.cleanup_every = 10});
  program.frees = mib(100);
  std::vector<int> at;
  for (int i = 1; i <= 30; ++i) {
    if (!program.step(gib(8)).empty()) at.push_back(i);
  }
  EXPECT_THAT(at, ElementsAre(10, 20, 30));
  EXPECT_EQ(program.manager.counts().cleanups, 3U);
  EXPECT_EQ(program.manager.counts().freed_bytes, mib(300).value);
  EXPECT_THAT(program.events(Event::Kind::kCleanup),
              ElementsAre(HasSubstr("100 MiB freed"), HasSubstr("freed"), HasSubstr("freed")));
}

TEST(Manager, CleansUpAboveTheThreshold) {
  Program program;
  program.frees = gib(1);
  EXPECT_THAT(program.step(gib(11)), IsEmpty());
  EXPECT_THAT(program.step(gib(13)), ElementsAre(Action::kCleanup));
  EXPECT_THAT(program.step(gib(11)), IsEmpty());
}

TEST(Manager, BacksOffWhereCleanupsFreeNothing) {
  Program program;
  std::vector<int> at;
  for (int i = 1; i <= 40; ++i) {
    if (!program.step(gib(13)).empty()) at.push_back(i);
  }
  EXPECT_THAT(at, ElementsAre(1, 3, 7, 15, 31));
  program.frees = gib(1);  // Now it helps, and the wait is over after the next one.
  std::vector<int> later;
  for (int i = 41; i <= 66; ++i) {
    if (!program.step(gib(13)).empty()) later.push_back(i);
  }
  EXPECT_THAT(later, ElementsAre(63, 64, 65, 66));
}

TEST(Manager, SavesItselfOnceAnEpisodeThenTakesMeasuresInOrder) {
  Program program;
  EXPECT_THAT(program.step(gib(15)),
              ElementsAre(Action::kCheckpoint, Action::kCleanup, Action::kShrink));
  EXPECT_THAT(program.step(gib(15)), ElementsAre(Action::kOffload));
  EXPECT_THAT(program.step(gib(15)), ElementsAre(Action::kPause));
  EXPECT_EQ(program.manager.counts().checkpoints, 1U);
  for (int i = 0; i < 20; ++i) {
    for (const Action action : program.step(gib(15))) EXPECT_EQ(action, Action::kCleanup);
  }
  EXPECT_THAT(program.events(Event::Kind::kNoMore), ElementsAre(HasSubstr("15.0 GiB")));
}

TEST(Manager, StopsAtTheMeasureThatHelps) {
  Program program;
  program.frees = gib(4);
  EXPECT_THAT(program.step(gib(15)), ElementsAre(Action::kCheckpoint, Action::kCleanup));
  EXPECT_THAT(program.step(gib(11)), IsEmpty());
}

TEST(Manager, MeasureThatCannotBeTakenIsFollowedByTheNextAtOnce) {
  Program program;
  program.outcomes = {{Action::kCleanup, Outcome::kNotDone},
                      {Action::kShrink, Outcome::kNotDone},
                      {Action::kOffload, Outcome::kNotDone}};
  EXPECT_THAT(program.step(gib(15)),
              ElementsAre(Action::kCheckpoint, Action::kCleanup, Action::kShrink, Action::kOffload,
                          Action::kPause));
}

TEST(Manager, NextEpisodeBeginsBelowTheCleanupThresholdOnly) {
  Program program({.checkpoint_cool_down = {}});  // Which would hide it.
  program.step(gib(15));
  program.step(gib(13));  // Between cleanup and critical: still the same.
  for (const Action action : program.step(gib(15))) EXPECT_NE(action, Action::kCheckpoint);
  program.step(gib(10));
  EXPECT_EQ(program.step(gib(15)).front(), Action::kCheckpoint);
  EXPECT_EQ(program.manager.counts().checkpoints, 2U);
}

TEST(Manager, SavesNoTwoTimesWithinTheCoolDown) {
  Program program({.checkpoint_cool_down = seconds(60)});
  program.step(gib(15));
  program.step(gib(8));
  EXPECT_EQ(program.step(gib(15)).front(), Action::kCleanup);
  program.step(gib(8));
  program.at = program.at + seconds(60);
  EXPECT_EQ(program.step(gib(15)).front(), Action::kCheckpoint);
}

TEST(Manager, SaveThatFailedOrIsUnconfirmedCountsForNone) {
  for (const Outcome outcome : {Outcome::kNotDone, Outcome::kUnconfirmed}) {
    Program program;
    program.outcomes = {{Action::kCheckpoint, outcome}};
    EXPECT_EQ(program.step(gib(15)).front(), Action::kCheckpoint);
    EXPECT_EQ(program.manager.counts().checkpoints, 0U);
    EXPECT_THAT(program.events(Event::Kind::kCheckpoint), ElementsAre(HasSubstr(to_text(outcome))));
    program.step(gib(8));
    EXPECT_EQ(program.step(gib(15)).front(), Action::kCheckpoint) << "there is none to cool down";
  }
}

TEST(Manager, CopiesAreCountedWithTheirBytes) {
  Program program;
  for (int i = 0; i < 35; ++i) program.manager.count_copy(mib(2));
  program.step(gib(8));
  EXPECT_EQ(program.manager.counts().copied_bytes, mib(70).value);
  EXPECT_EQ(program.manager.status_line(), "VRAM: 8192 MiB | Copies: 35 | Cleanups: 0");
}

TEST(Manager, PhasesAreNotedWithTheMemoryAtTheirBeginning) {
  Program program;
  program.step(gib(8));
  program.manager.count_copy(mib(1));
  program.use = gib(9);
  program.manager.phase(program.now(), "predict", program.sample(), gib(3));
  const auto& phases = program.manager.phases();
  ASSERT_EQ(phases.size(), 1U);
  EXPECT_EQ(phases[0].name, "predict");
  EXPECT_EQ(phases[0].used, gib(9));
  EXPECT_EQ(phases[0].allocated, gib(3));
  EXPECT_EQ(phases[0].copies, 1U);
  EXPECT_EQ(phases[0].step, 1U);
  EXPECT_THAT(program.events(Event::Kind::kPhase), ElementsAre(HasSubstr("9.0 GiB")));
  for (int i = 0; i < 300; ++i) program.manager.phase(program.now(), "x", {}, {});
  EXPECT_EQ(phases.size(), Manager::kPhasesMax);
}

TEST(Manager, LeakIsToldOnceOfDeviceAndOfHost) {
  Program program;
  for (std::uint64_t step = 1; step <= 50; ++step) {
    program.manager.step(
        program.now(),
        {.used = {}, .whole = {}, .own = mib(1'000 + 10 * step), .host = mib(500 + 5 * step)});
  }
  EXPECT_TRUE(program.manager.leak().leaks);
  EXPECT_TRUE(program.manager.host_leak().leaks);
  std::vector<Event> told;
  while (auto event = program.manager.take_event()) told.push_back(*event);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].kind, Event::Kind::kLeak);
  EXPECT_EQ(told[0].bytes, mib(10).value);
  EXPECT_EQ(told[1].kind, Event::Kind::kHostLeak);
  EXPECT_EQ(told[1].bytes, mib(5).value);
}

TEST(Manager, EventsAreBoundedAndTheirNumbersShowTheGap) {
  Program program;
  for (int i = 0; i < 300; ++i) program.manager.phase(program.now(), "x", {}, {});
  const auto first = program.manager.take_event();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->number, 300 - Manager::kEventsMax + 1);
}

}  // namespace
}  // namespace berth::vram
