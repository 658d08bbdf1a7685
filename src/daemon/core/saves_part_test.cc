// SPDX-License-Identifier: Apache-2.0
// The part that asks for checkpoints, alone; saves_test.cc has it with all others.
#include <gtest/gtest.h>

#include "core/decider_for_test.h"
#include "core/saves.h"

namespace berth::core {
namespace {

class SavesPart : public testing::Test {
 protected:
  SavesPart() {
    id = core.queue(
        {.vram = gib(1),
         .checkpoint = CheckpointWay{
             .kind = CheckpointKind::kSignal, .grace = seconds(30), .every = minutes(10)}});
    core.run(id, {0xd0, 0, false});
    core.take_effects();
  }
  const Lease& lease() const { return *core.state().find(id); }

  TestDecider core;
  Saves saves{core};
  LeaseId id;
};

TEST_F(SavesPart, OneThatIsUnderWayIsNotAskedAgain) {
  saves.ask(id, CheckpointReason::kAsked);
  saves.ask(id, CheckpointReason::kRequeue);
  EXPECT_EQ(core.take_records(), "checkpoint_asked; ");
}

TEST_F(SavesPart, ItIsDueAfterItsTimeAndEndsAfterItsGrace) {
  EXPECT_EQ(saves.due(lease()), core.now().instant + minutes(10));
  EXPECT_FALSE(saves.tend(id));
  core.pass(minutes(10));
  EXPECT_TRUE(saves.tend(id));
  EXPECT_EQ(core.take_records(), "checkpoint_asked; ");
  core.pass(saves.due(lease()) - core.now().instant);
  EXPECT_TRUE(saves.tend(id));
  EXPECT_EQ(core.take_records(), "checkpoint_ended; ");
  EXPECT_EQ(lease().checkpoints.last->outcome, CheckpointOutcome::kTimedOut);
}

TEST_F(SavesPart, ItsEndIsToldOnce) {
  saves.ask(id, CheckpointReason::kAsked);
  saves.end(id, CheckpointOutcome::kSaved, "");
  EXPECT_EQ(core.saves_ended, std::vector{id});
}

TEST_F(SavesPart, AReportOfAnotherSaveChangesNothing) {
  saves.ask(id, CheckpointReason::kAsked);
  core.take_effects();
  saves.on(ReportCheckpoint{.token = {},
                            .actor = {.user = {1000}},
                            .handle = lease().handle,
                            .body = {.number = 2, .outcome = CheckpointOutcome::kSaved}});
  EXPECT_EQ(core.take_records(), "");
  EXPECT_TRUE(lease().checkpoints.asked.has_value());
}

}  // namespace
}  // namespace berth::core
