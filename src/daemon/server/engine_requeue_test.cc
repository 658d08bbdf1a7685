// SPDX-License-Identifier: Apache-2.0
// Leases that are requeued while the disk is full: what is told, and what is asked again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/engine.h"
#include "server/engine_story_for_test.h"

namespace berth::server {
namespace {

using S = EngineStory;
using ::testing::Contains;
using ::testing::Not;

/// Lease 1 runs, and is being stopped to wait again.
void begin_requeue(S& story) {
  Request request = S::budget(gib(8));
  request.requeue_grace = seconds(10);
  story.submit(1, request);
  story.claim(1, 1);
  story.engine.ask(story.now, {2}, core::AskRequeue{{}, S::kActor, {1}});
  story.engine.ask(story.now, {3}, core::BeginRequeue{{}, S::kActor, S::handle(1)});
}

/// A client has come for its next run when it ends, and the grant of that cannot be written: what
/// is told then.
std::vector<std::string> told_on_a_full_disk(S& story) {
  story.engine.ask(story.now, {4}, core::Reconnect{{}, S::kActor, S::handle(1), {1}},
                   Engine::Listen::kStream);
  story.engine.process_ended(story.now, S::process(101));
  story.world.full = true;
  (void)story.done();
  story.sample();
  return story.done();
}

// It waits again and is granted in the same step: the word of the one would show the other.
TEST(EngineRequeue, ARequeueWhoseGrantCannotBeWrittenIsNotToldOf) {
  S story;
  story.engine.follow_all({9});
  begin_requeue(story);
  const auto trace = told_on_a_full_disk(story);
  EXPECT_THAT(trace, Not(Contains("item 9 requeued 1")));
  EXPECT_THAT(trace, Contains("answer 2 disk_full"));
  EXPECT_EQ(story.state(1), LeaseState::kWaiting);
}

/// Its command uses more than its budget of 8 GiB.
void use_too_much(S& story) {
  Sample sample{.asked_at = story.now.instant, .answered_at = story.now.instant, .simulated = true};
  sample.devices.push_back(
      {.id = {0xd0, 1},
       .model = "Simulated",
       .capacity = gib(16),
       .used = gib(9),
       .figures = {.driver_reserved = Bytes{}},
       .processes = {{{.process = S::process(101), .used = gib(9), .user = {1000}}}}});
  story.engine.sampled(story.now, sample);
}

// So would the word of the measure for which it is requeued, and which is over then.
TEST(EngineRequeue, AMeasureIsNotToldOfWithAGrantThatCannotBeWritten) {
  S story({.core = {.order = Order::kFifo,
                    .reserve = {},
                    .pressure = {.over_budget = {{.measure = Measure::kRequeue}}}},
           .journal_path = "/state/leases.db"});
  story.engine.follow_all({9});
  Request request = S::budget(gib(8));
  request.requeue_grace = seconds(10);
  request.over_budget = OverBudget::kSuspend;
  story.submit(1, request);
  story.claim(1, 1);
  for (int i = 0; i < 3; ++i) {
    use_too_much(story);
    story.now.instant = story.now.instant + seconds(1);
    story.engine.on_timer(story.now);
  }
  EXPECT_THAT(story.done(), Contains("item 9 requeue 1"));
  story.engine.ask(story.now, {3}, core::BeginRequeue{{}, S::kActor, S::handle(1)});
  EXPECT_THAT(told_on_a_full_disk(story), Not(Contains("item 9 measure 1")));
  EXPECT_EQ(story.state(1), LeaseState::kWaiting);
}

// Its question is asked again, and still says for which run.
TEST(EngineRequeue, AClientOfTheNextRunWhileNothingCanBeWrittenGetsItLater) {
  S story;
  begin_requeue(story);
  story.engine.process_ended(story.now, S::process(101));
  story.sample();
  story.world.full = true;
  (void)story.done();
  story.engine.ask(story.now, {4}, core::Reconnect{{}, S::kActor, S::handle(1), {1}},
                   Engine::Listen::kStream);
  EXPECT_EQ(story.state(1), LeaseState::kWaiting);
  story.world.full = false;
  story.pass(seconds(2));
  const auto trace = story.done();
  EXPECT_THAT(trace, Not(Contains("answer 4 wrong_state")));
  EXPECT_THAT(trace, Contains("item 4 granted 1 last"));
}

}  // namespace
}  // namespace berth::server
