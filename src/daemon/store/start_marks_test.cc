// SPDX-License-Identifier: Apache-2.0
#include "store/start_marks.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace berth::store {
namespace {

class Starts : public testing::Test {
 protected:
  Starts() {
    std::string name = testing::TempDir() + "berth-starts-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~Starts() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/starts"; }

  /// One more daemon starts, and comes so far.
  void start(std::int64_t second, Outcome outcome, const std::string& boot = "boot-1") {
    StartMarks marks(path());
    ASSERT_TRUE(marks.add(mark(second, boot)).ok());
    ASSERT_TRUE(marks.set_outcome(outcome).ok());
  }
  bool kills(std::int64_t second, const std::string& boot = "boot-1") const {
    return StartMarks(path()).journal_kills(mark(second, boot));
  }
  static StartMark mark(std::int64_t second, const std::string& boot) {
    return {.boot_id = boot, .at = {seconds(second).ns}, .pid = 7, .release = "0.1.0"};
  }

  std::string folder_;
};

TEST_F(Starts, TwoDeathsWithinAMinuteAreTheJournals) {
  EXPECT_FALSE(kills(0));
  start(0, Outcome::kUnanswered);
  EXPECT_FALSE(kills(1));
  start(1, Outcome::kUnanswered);
  EXPECT_TRUE(kills(2));
  EXPECT_TRUE(kills(60));
  EXPECT_FALSE(kills(61));           // The first was too long ago.
  EXPECT_FALSE(kills(2, "boot-2"));  // The machine was restarted.
}

TEST_F(Starts, ADaemonThatAnsweredDidNotDieOfTheJournal) {
  start(0, Outcome::kUnanswered);
  start(1, Outcome::kAnswered);
  start(2, Outcome::kUnanswered);
  EXPECT_FALSE(kills(3));
  start(3, Outcome::kUnanswered);
  EXPECT_TRUE(kills(4));
}

TEST_F(Starts, EndThatWasToldIsNoDeath) {
  for (int i = 0; i < 5; ++i) {
    StartMarks marks(path());
    ASSERT_TRUE(marks.add(mark(i, "boot-1")).ok());
    ASSERT_TRUE(marks.take_back().ok());
  }
  EXPECT_FALSE(kills(6));
}

TEST_F(Starts, LastOneIsRememberedWithItsOutcome) {
  EXPECT_EQ(StartMarks(path()).last(), std::nullopt);
  start(5, Outcome::kClosed);
  const std::optional<StartMark> last = StartMarks(path()).last();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->boot_id, "boot-1");
  EXPECT_EQ(last->at, Instant{seconds(5).ns});
  EXPECT_EQ(last->pid, 7);
  EXPECT_EQ(last->release, "0.1.0");
  EXPECT_EQ(last->outcome, Outcome::kClosed);
  StartMarks marks(path());
  ASSERT_TRUE(marks.set_outcome(Outcome::kAnswered).ok());  // Too late.
  EXPECT_EQ(StartMarks(path()).last()->outcome, Outcome::kClosed);
}

TEST_F(Starts, FileStaysShortAndSurvivesNonsense) {
  std::ofstream(path()) << "nonsense\nboot x y z\n\nboot-1 1 2 3 0.1.0 sleeping\n";
  EXPECT_EQ(StartMarks(path()).last(), std::nullopt);
  for (int i = 0; i < 50; ++i) start(i, Outcome::kAnswered);
  std::ifstream file(path());
  std::size_t lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  EXPECT_EQ(lines, StartMarks::kKept);
  EXPECT_EQ(StartMarks(path()).last()->at, Instant{seconds(49).ns});
}

}  // namespace
}  // namespace berth::store
