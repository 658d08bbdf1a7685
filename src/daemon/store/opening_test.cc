// SPDX-License-Identifier: Apache-2.0
// Choice of the file that is believed at start, and what is said about the others.
#include "store/opening.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>

#include "store/schema.h"
#include "store/state_directory_for_test.h"

namespace berth::store {
namespace {

using OpeningTest = StateDirectoryTest;

// The next number after a lost end of the journal: all records of numbered() are about one lease.
std::uint64_t number_after_skip() {
  return std::get<RequestQueued>(numbered(1, 1).front().fact).id.value + 1 + 5'000;
}

TEST_F(OpeningTest, JournalOfALaterReleaseIsLeftUntouched) {
  leave(1, 5);
  execute("PRAGMA user_version = 2");
  const std::string database = read("leases.db");
  const std::string log = read("leases.db-wal");
  const std::string starts = read("starts");
  for (const char* boot : {"boot-1", "boot-2"}) {
    state_.options.boot_id = boot;
    for (int i = 0; i < 3; ++i) {  // It must not look like deaths, either.
      const Result<OpenedJournal> opened = state_.open();
      ASSERT_FALSE(opened.ok());
      EXPECT_EQ(opened.error().code, Errc::kVersion);
      EXPECT_NE(opened.error().message.find(state_.at("leases.db") + " has format 2"),
                std::string::npos)
          << opened.error().message;
    }
  }
  EXPECT_EQ(read("leases.db"), database);
  EXPECT_EQ(read("leases.db-wal"), log);
  EXPECT_EQ(read("starts"), starts);
}

// The version can stand in the log alone, when a newer daemon was killed just after migrating.
TEST_F(OpeningTest, LaterVersionInTheLogAloneIsRefusedToo) {
  leave(1, 5);
  {
    Result<Database> newer =
        Database::open(state_.at("leases.db"), Database::Access::kReadWrite, FaultyFiles::kName);
    ASSERT_TRUE(newer->execute("PRAGMA user_version = 2").ok());
    state_.files.set_dead(true);
  }
  state_.files.set_dead(false);
  EXPECT_EQ(read_head(state_.at("leases.db"))->version, 1u);
  EXPECT_EQ(state_.open().error().code, Errc::kVersion);
  EXPECT_EQ(state_.open().error().code, Errc::kVersion);
  execute("PRAGMA user_version = 1");
  EXPECT_EQ(start().recovered.records.size(), 5u);
}

TEST_F(OpeningTest, EachStepOfTheFormatIsNotedWithItsRelease) {
  leave(1, 1);
  Result<Database> database =
      Database::open(state_.at("leases.db"), Database::Access::kReadOnly, nullptr);
  EXPECT_EQ(*database->number("SELECT count(*) FROM migrations"), kSchemaVersion);
  Result<Statement> last =
      database->prepare("SELECT release, wall_ms FROM migrations ORDER BY version DESC");
  ASSERT_TRUE(*last->step());
  EXPECT_EQ(last->text(0), BERTH_VERSION);
  EXPECT_EQ(last->number(1), static_cast<std::uint64_t>(state_.options.wall.value));
}

TEST_F(OpeningTest, DamagedJournalIsMovedAsideAndSaid) {
  for (const std::string& damage : {std::string("no database"), std::string(8'192, '\0'),
                                    std::string("SQLite format 3") + std::string(9'000, '\x07')}) {
    leave(1, 5);
    std::filesystem::remove(state_.at("leases.synced.db"));
    std::filesystem::remove(state_.at("leases.db-wal"));
    write("leases.db", damage);
    const OpenedJournal opened = start();
    EXPECT_TRUE(opened.recovered.records.empty());
    EXPECT_EQ(opened.journal->last_sequence(), 0u);
    EXPECT_FALSE(opened.recovered.safe_mode);
    const std::string said = all(opened.recovered.findings);
    EXPECT_NE(said.find("was moved to leases.db.20260207T131"), std::string::npos) << said;
    std::filesystem::remove(state_.at("leases.db"));
    std::filesystem::remove(state_.at("leases.db-wal"));
  }
  EXPECT_EQ(state_.count("leases.db.20260207T131"), 3u);  // Each kept, in the same second too.
}

TEST_F(OpeningTest, DamageInsideIsFoundWhereverItIs) {
  leave(1, 150);
  std::filesystem::remove(state_.at("leases.db-wal"));
  const std::string whole = read("leases.db");
  // The file is longer: it grows by whole MiB.
  const std::size_t pages = static_cast<unsigned char>(whole[31]);
  std::size_t moved = 0;
  for (std::size_t page = 1; page < pages; ++page) {
    std::string damaged = whole;
    damaged.replace(page * 4'096, 64, std::string(64, '\xff'));
    std::filesystem::remove(state_.at("leases.db-wal"));
    std::filesystem::remove(state_.at("leases.synced.db"));
    write("leases.db", damaged);
    const OpenedJournal opened = start();
    const std::size_t found = opened.recovered.records.size();
    EXPECT_TRUE(found == 150 || !opened.recovered.findings.empty()) << page;
    if (found == 0) ++moved;
  }
  EXPECT_GT(moved, 5u);
}

TEST_F(OpeningTest, AfterDamageTheSyncedCopyIsUsedAndNoNumberGivenTwice) {
  {
    OpenedJournal opened = start();
    ASSERT_TRUE(opened.journal->append(numbered(1, 5)).ok());
    ASSERT_TRUE(wait_for_sync(opened));
    ASSERT_TRUE(opened.journal->append(numbered(6, 5)).ok());
    state_.kill(std::move(opened.journal));
  }
  write("leases.db", "no database");
  const OpenedJournal opened = start();
  ASSERT_EQ(opened.recovered.records.size(), 6u);
  const auto& skip = std::get<CountersRestored>(opened.recovered.records.back().fact);
  EXPECT_EQ(skip.next_id, number_after_skip());
  EXPECT_EQ(opened.recovered.records.back().sequence, 0u);
  EXPECT_EQ(opened.journal->last_sequence(), 5u);
  EXPECT_TRUE(opened.recovered.same_boot);
  const std::string said = all(opened.recovered.findings);
  EXPECT_NE(said.find("leases.synced.db is used"), std::string::npos) << said;
  EXPECT_NE(said.find("go on from " + std::to_string(number_after_skip())), std::string::npos)
      << said;
  EXPECT_EQ(state_.count("leases.db.2"), 2u);  // With its log, under the name SQLite looks for.
}

TEST_F(OpeningTest, DamagedCopyIsMovedAsideToo) {
  leave(1, 5);
  write("leases.db", "no database");
  write("leases.synced.db", "no database either");
  const OpenedJournal opened = start();
  EXPECT_TRUE(opened.recovered.records.empty());
  EXPECT_EQ(state_.count("leases.db.2"), 2u);
  EXPECT_EQ(state_.count("leases.synced.db.2"), 1u);
}

TEST_F(OpeningTest, LogIsNeverPlayedIntoAnotherDatabase) {
  {
    OpenedJournal opened = start();
    ASSERT_TRUE(opened.journal->append(numbered(1, 5)).ok());
    ASSERT_TRUE(wait_for_sync(opened));
    ASSERT_TRUE(opened.journal->append(numbered(6, 40)).ok());
    state_.kill(std::move(opened.journal));
  }
  std::filesystem::remove(state_.at("leases.db"));
  {
    OpenedJournal opened = start();
    EXPECT_EQ(opened.journal->last_sequence(), 5u);
    EXPECT_EQ(state_.count("leases.db-wal.2"), 1u);
    ASSERT_TRUE(opened.journal->append(numbered(6, 3)).ok());
    state_.kill(std::move(opened.journal));
  }
  std::filesystem::resize_file(state_.at("leases.db"), 0);
  const OpenedJournal opened = start();
  EXPECT_EQ(opened.journal->last_sequence(), 5u);
  EXPECT_EQ(state_.count("leases.db.2"), 2u);  // SQLite itself would have deleted the log.
  EXPECT_NE(all(opened.recovered.findings).find("cut short"), std::string::npos);
}

TEST_F(OpeningTest, DatabaseOfSomethingElseIsMovedAside) {
  leave(1, 1);
  for (const char* name : {"leases.db", "leases.db-wal", "leases.synced.db"}) {
    std::filesystem::remove(state_.at(name));
  }
  {
    Result<Database> other =
        Database::open(state_.at("leases.db"), Database::Access::kCreate, nullptr);
    ASSERT_TRUE(other->execute("CREATE TABLE songs (title)").ok());
  }
  const OpenedJournal opened = start();
  const std::string said = all(opened.recovered.findings);
  EXPECT_NE(said.find("a database of something else"), std::string::npos) << said;
  EXPECT_EQ(state_.count("leases.db.2"), 1u);
}

TEST_F(OpeningTest, LineThatCannotBeReadIsSaidAndTheRestGoesOn) {
  leave(1, 20);
  execute(
      "UPDATE records SET line = '{}' WHERE sequence = 3;"
      "UPDATE records SET line = 'x' WHERE sequence > 10;"
      "DELETE FROM records WHERE sequence IN (5, 6)");
  const OpenedJournal opened = start();
  EXPECT_EQ(opened.recovered.records.size(), 7u);
  EXPECT_EQ(opened.journal->last_sequence(), 20u);
  const std::string said = all(opened.recovered.findings);
  EXPECT_NE(said.find("line 3 is left out: not a record: sequence is missing"), std::string::npos)
      << said;
  EXPECT_NE(said.find("3 more lines are left out"), std::string::npos) << said;
  EXPECT_NE(said.find("2 of the records up to 20 are missing"), std::string::npos) << said;
}

TEST_F(OpeningTest, JournalThatKillsItsReaderIsMovedAside) {
  leave(1, 5);
  state_.answers = false;
  for (int death = 0; death < 2; ++death) {
    OpenedJournal opened = start();
    EXPECT_FALSE(opened.recovered.safe_mode);
    EXPECT_EQ(opened.recovered.records.size(), 5u);
    state_.kill(std::move(opened.journal));
  }
  {
    OpenedJournal opened = start();
    EXPECT_TRUE(opened.recovered.safe_mode);
    EXPECT_TRUE(opened.recovered.records.empty());
    const std::string said = all(opened.recovered.findings);
    EXPECT_NE(said.find("safe mode"), std::string::npos) << said;
    EXPECT_NE(said.find("leases.db.20260207T131502Z.unsafe"), std::string::npos) << said;
    opened.journal->mark_answered();
  }
  EXPECT_FALSE(start().recovered.safe_mode);
}

TEST_F(OpeningTest, AfterAPowerCutNothingUnsyncedIsBelieved) {
  {
    OpenedJournal opened = start();
    ASSERT_TRUE(opened.journal->append(numbered(1, 5)).ok());
    ASSERT_TRUE(wait_for_sync(opened));
    ASSERT_TRUE(opened.journal->append(numbered(6, 5)).ok());
    state_.kill(std::move(opened.journal));
  }
  state_.boot();  // Intact, and not believed: nobody can know that it is.
  const OpenedJournal opened = start();
  EXPECT_FALSE(opened.recovered.same_boot);
  ASSERT_EQ(opened.recovered.records.size(), 6u);
  const auto& skip = std::get<CountersRestored>(opened.recovered.records.back().fact);
  EXPECT_EQ(skip.next_id, number_after_skip());
}

TEST_F(OpeningTest, OrderlyRestartOfTheMachineLosesNothingAndSkipsNoNumber) {
  {
    OpenedJournal opened = start();
    ASSERT_TRUE(opened.journal->append(numbered(1, 5)).ok());
    (void)opened.journal->sync();
  }
  state_.boot();
  const OpenedJournal opened = start();
  EXPECT_FALSE(opened.recovered.same_boot);
  EXPECT_EQ(lines_of(opened.recovered.records), lines_of(numbered(1, 5)));
  EXPECT_TRUE(opened.recovered.findings.empty()) << all(opened.recovered.findings);
}

TEST_F(OpeningTest, DeathWhileStartingInANewBootIsNotTakenForTheOldOne) {
  leave(1, 3);
  {
    OpenedJournal opened = start();
    ASSERT_TRUE(wait_for_sync(opened));
  }
  state_.boot();
  OpenedJournal opened = start();
  EXPECT_FALSE(opened.recovered.same_boot);
  // Nothing was written in the new boot: what is there is still of the last one.
  state_.kill(std::move(opened.journal));
  opened = start();
  EXPECT_FALSE(opened.recovered.same_boot);
  EXPECT_GE(opened.recovered.records.size(), 3u);
  ASSERT_TRUE(opened.journal->replace(numbered(50, 2), 3).ok());
  state_.kill(std::move(opened.journal));
  opened = start();
  EXPECT_TRUE(opened.recovered.same_boot);
  EXPECT_EQ(opened.recovered.snapshot.size(), 2u);
}

TEST_F(OpeningTest, JournalThatWasNeverSyncedIsKeptAsideAfterAPowerCut) {
  {
    OpenedJournal opened = start();
    ASSERT_TRUE(opened.journal->append(numbered(1, 5)).ok());
    state_.kill(std::move(opened.journal));
  }
  state_.boot();
  const OpenedJournal opened = start();
  EXPECT_TRUE(opened.recovered.records.empty());
  EXPECT_EQ(state_.count("leases.db.2"), 2u);
  EXPECT_NE(all(opened.recovered.findings).find(".unsynced"), std::string::npos);
}

TEST_F(OpeningTest, ThroughALinkNoDatabaseIsWritten) {
  const std::string target = state_.at("of-another");
  std::ofstream(target) << "kept";
  std::filesystem::create_symlink(target, state_.at("linked.db"));
  for (const Database::Access access : {Database::Access::kCreate, Database::Access::kReadWrite}) {
    const Result<Database> opened = Database::open(state_.at("linked.db"), access, nullptr);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, Errc::kPermission);
  }
  EXPECT_EQ(*os::read_file(target, 10), "kept");
}

TEST_F(OpeningTest, StartWithoutRoomSaysWhatThatMeans) {
  state_.options.write_ahead = {std::uint64_t{1} << 60U};
  const OpenedJournal opened = start();
  EXPECT_NE(all(opened.recovered.findings).find("when the disk is full, nothing new will be"),
            std::string::npos);
}

}  // namespace
}  // namespace berth::store
