// SPDX-License-Identifier: Apache-2.0
#include "server/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/quantity.h"
#include "core/story.h"

namespace berth::server {
namespace {

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
    (void)story_.tell(event);
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

TEST_F(AuditTest, WhoCancelsAnothersLeaseIsNamed) {
  run(gib(8));
  EXPECT_THAT(lines_of(Release{.token = {9}, .actor = kRoot, .lease = {1}, .cancel = true}),
              ElementsAre("cancel lease 1 (anna/train) by root"));
}

TEST_F(AuditTest, AReleaseThatIsRefusedIsNoEntry) {
  run(gib(8));
  EXPECT_THAT(lines_of(Release{.token = {9}, .actor = kRoot, .lease = {1}}), IsEmpty());
  EXPECT_THAT(lines_of(Release{.token = {9}, .actor = kRoot, .lease = {1}, .detach = true}),
              ElementsAre("detach lease 1 (anna/train) by root"));
}

TEST_F(AuditTest, APauseTellsForHowLongAndWhyAndAResumeWhoWantedIt) {
  run(gib(8));
  EXPECT_THAT(
      lines_of(core::Freeze{.token = {9},
                            .actor = kRoot,
                            .lease = {1},
                            .terms = {.lasts = minutes(10), .reason = "a demo"}}),
      ElementsAre("pause lease 1 (anna/train) by root: a demo, for " + to_text(minutes(10))));
  const core::Moved stopped{.lease = {1}, .number = story_.last_move()->number, .result = {}};
  EXPECT_THAT(lines_of(stopped), IsEmpty());
  EXPECT_THAT(lines_of(core::Resume{.token = {9}, .actor = kOwner, .lease = {1}}),
              ElementsAre("resume lease 1 (anna/train) by anna"));
}

TEST_F(AuditTest, WhatAnotherLeaseGetsInTheSameStepIsNotDoneByTheAsker) {
  run(gib(4));
  (void)story_.ask({.name = "next", .vram = gib(10)});  // Granted, and not begun.
  (void)story_.tell(core::Resize{.token = {9},
                                 .actor = kOwner,
                                 .lease = {1},
                                 .share = Share::kBudget,
                                 .vram = gib(8),
                                 .wait_max = minutes(10)});
  EXPECT_THAT(lines_of(Release{.token = {9}, .actor = kRoot, .lease = {2}, .cancel = true}),
              ElementsAre("end lease 2 (anna/next) by root: cancelled",
                          "resize lease 1 (anna/train): 8.0 GiB"));
}

TEST(LogLine, WithoutANameThereIsTheNumber) {
  const AuditEntry entry{.verb = Verb::kReload, .by = UserId{7}};
  EXPECT_EQ(log_line(entry, [](UserId) { return std::string(); }), "reload by uid 7");
}

}  // namespace
}  // namespace berth::server
