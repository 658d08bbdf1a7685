// SPDX-License-Identifier: Apache-2.0
#include "server/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "core/story_for_test.h"

namespace berth::server {
namespace {

using core::Cancel;
using core::Release;
using testing::ElementsAre;
using testing::IsEmpty;
using AuditStory = core::Story;

constexpr core::Actor kOwner{{1000}};
constexpr core::Actor kRoot{{0}, true};

/// What each step comes to, as the log would have it.
class AuditTest : public testing::Test {
 protected:
  std::vector<std::string> lines_of(const core::Event& event) {
    const std::size_t before = story_.effects.size();
    (void)story_.feed(event);
    return lines(event, before);
  }
  std::vector<std::string> lines(const core::Event& event, std::size_t before) {
    std::vector<Record> records;
    const std::span effects = std::span(story_.effects).subspan(before);
    for (const core::Effect& effect : effects) {
      if (const auto* append = std::get_if<core::Append>(&effect)) {
        records.push_back(append->record);
      }
    }
    const auto lookup = [&](LeaseId id) { return story_.coordinator.lease(id, story_.now); };
    std::vector<std::string> lines;
    for (const AuditEntry& entry :
         audit_of({.event = event, .at = story_.now.wall, .records = records, .effects = effects},
                  lookup)) {
      lines.push_back(log_line(
          entry, [](UserId user) { return std::string(user == UserId{0} ? "root" : "anna"); }));
    }
    return lines;
  }
  void run(Bytes vram) {
    (void)story_.ask({.name = "train", .vram = vram});
    (void)story_.claim(story_.handles);
  }

  AuditStory story_;
};

TEST_F(AuditTest, AGrantIsTheDaemonsAndGoesToItsOwner) {
  const core::Submit submit{.token = {1},
                            .actor = kOwner,
                            .handle = {0, 1},
                            .supervisor = AuditStory::process(1001),
                            .request = {.name = "train", .vram = gib(8)}};
  EXPECT_THAT(lines_of(submit), ElementsAre("grant lease 1 (anna/train): 8.0 GiB"));
}

TEST_F(AuditTest, AUserWhoCancelsAnothersLeaseIsNamed) {
  run(gib(8));
  EXPECT_THAT(lines_of(Cancel{.token = {9}, .actor = kRoot, .lease = {1}}),
              ElementsAre("cancel lease 1 (anna/train) by root"));
}

TEST_F(AuditTest, AReleaseThatIsRefusedIsNoEntry) {
  run(gib(8));
  EXPECT_THAT(lines_of(Release{.token = {9}, .actor = kRoot, .lease = {1}}), IsEmpty());
  EXPECT_THAT(
      lines_of(Release{.token = {9}, .actor = kRoot, .lease = {1}, .body = {.detach = true}}),
      ElementsAre("detach lease 1 (anna/train) by root"));
}

TEST_F(AuditTest, APauseTellsForHowLongAndWhyAndAResumeWhoWantedIt) {
  run(gib(8));
  EXPECT_THAT(
      lines_of(core::Freeze{.token = {9},
                            .actor = kRoot,
                            .lease = {1},
                            .body = {.lasts = minutes(10), .reason = "a demo"}}),
      ElementsAre("pause lease 1 (anna/train) by root: a demo, for " + to_text(minutes(10))));
  const core::TransferDone stopped{
      .lease = {1}, .number = story_.last_move()->number, .result = {}};
  EXPECT_THAT(lines_of(stopped), IsEmpty());
  EXPECT_THAT(lines_of(core::Resume{.token = {9}, .actor = kOwner, .lease = {1}}),
              ElementsAre("resume lease 1 (anna/train) by anna"));
}

TEST_F(AuditTest, WhatAnotherLeaseGetsInTheSameStepIsNotDoneByTheRequester) {
  run(gib(4));
  (void)story_.ask({.name = "next", .vram = gib(10)});  // Granted, and not begun.
  (void)story_.feed(
      core::Resize{.token = {9},
                   .actor = kOwner,
                   .lease = {1},
                   .body = {.share = Share::kBudget, .vram = gib(8), .wait_max = minutes(10)}});
  EXPECT_THAT(lines_of(Cancel{.token = {9}, .actor = kRoot, .lease = {2}}),
              ElementsAre("end lease 2 (anna/next) by root: cancelled",
                          "resize lease 1 (anna/train): 8.0 GiB"));
}

/// A verb, and what has to be before; the event that is told then.
struct VerbCase {
  std::string line;
  std::function<core::Event(AuditStory&)> prepare;
};

Request named(std::string name, Bytes vram) {
  return {.name = std::move(name), .vram = vram};
}
void run_in(AuditStory& story, Request request, Bytes used) {
  (void)story.ask(std::move(request));
  (void)story.claim(1);
  story.use(1, used);
  (void)story.second();
}
core::Event sampled(const AuditStory& story) {
  return core::Sampled{{story.now.instant, story.now.instant, true, "", "", story.hardware}};
}

core::Event to_preempt(AuditStory& story) {
  Request yields = named("train", gib(12));
  yields.may_yield = true;
  run_in(story, std::move(yields), gib(4));
  return core::Submit{.token = {2},
                      .actor = kRoot,
                      .handle = {0, 2},
                      .supervisor = AuditStory::process(1002),
                      .request = {.name = "urgent",
                                  .priority = Priority::kUrgent,
                                  .vram = gib(14),
                                  .devices = {DeviceName(0U)}}};
}
core::Event to_move(AuditStory& story) {
  Request here = named("train", gib(8));
  here.devices = {DeviceName(0U)};
  run_in(story, std::move(here), gib(4));
  (void)story.feed(core::Suspend{{71}, kOwner, {1}});
  (void)story.feed(
      core::TransferDone{.lease = {1}, .number = story.last_move()->number, .result = {}});
  story.use(1, {});
  (void)story.second();
  return core::Migrate{{9}, kRoot, {1}, {{DeviceName(1U)}}};
}
core::Event to_requeue(AuditStory& story) {
  Request again = named("train", gib(4));
  again.requeue_grace = seconds(5);
  run_in(story, std::move(again), gib(2));
  return core::AskRequeue{.token = {9}, .actor = kRoot, .lease = {1}, .body = {.unsaved = true}};
}
core::Event to_renew(AuditStory& story) {
  Request kept = named("train", gib(2));
  kept.ttl = hours(1);
  (void)story.ask(std::move(kept));
  return core::Renew{.token = {9}, .actor = kRoot, .lease = {1}, .body = {.ttl = hours(2)}};
}
core::Event to_save(AuditStory& story) {
  Request saves = named("train", gib(4));
  saves.checkpoint = CheckpointWay{.kind = CheckpointKind::kLibrary};
  run_in(story, std::move(saves), gib(2));
  return core::AskCheckpoint{.token = {9}, .actor = kRoot, .lease = {1}};
}
core::Event to_limit(AuditStory& story) {
  Request limited = named("train", gib(4));
  limited.limit = minutes(1);
  run_in(story, std::move(limited), gib(2));
  story.now.instant = story.now.instant + minutes(2);
  return core::Woke{};
}
core::Event to_measure(AuditStory& story) {
  Request over = named("train", gib(4));
  over.over_budget = OverBudget::kSuspend;
  run_in(story, std::move(over), gib(6));
  for (int i = 0; i < 59; ++i) (void)story.second();
  story.now.instant = story.now.instant + seconds(1);
  return sampled(story);
}
core::Event to_release(AuditStory& story) {
  Request kept = named("train", gib(2));
  kept.ttl = hours(1);
  (void)story.ask(std::move(kept));
  (void)story.feed(
      core::Renew{.token = {8}, .actor = kOwner, .lease = {1}, .body = {.ttl = hours(2)}});
  return Release{.token = {9}, .actor = kRoot, .lease = {1}};
}

TEST_F(AuditTest, EachVerbNamesTheLeaseWhoDidItAndWhy) {
  const std::vector<VerbCase> table = {
      {"preempt lease 1 (anna/train): for lease 2 (root/urgent)", to_preempt},
      {"move lease 1 (anna/train) by root: to GPU 1", to_move},
      {"requeue lease 1 (anna/train) by root", to_requeue},
      {"renew lease 1 (anna/train) by root", to_renew},
      {"checkpoint lease 1 (anna/train) by root", to_save},
      {"limit lease 1 (anna/train)", to_limit},
      {"measure lease 1 (anna/train): suspend: over_budget", to_measure},
      {"release lease 1 (anna/train) by root", to_release},
  };
  for (const VerbCase& one : table) {
    story_ = AuditStory({.order = Order::kFifo, .reserve = {}}, {gib(16), gib(16)});
    const core::Event event = one.prepare(story_);
    EXPECT_THAT(lines_of(event), ElementsAre(one.line)) << story_.refusal();
  }
}

TEST(LogLine, WithoutANameThereIsTheNumber) {
  const AuditEntry entry{.verb = Verb::kReload, .by = UserId{7}};
  EXPECT_EQ(log_line(entry, [](UserId) { return std::string(); }), "reload by uid 7");
}

}  // namespace
}  // namespace berth::server
