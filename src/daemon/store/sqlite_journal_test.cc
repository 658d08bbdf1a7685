// SPDX-License-Identifier: Apache-2.0
// The journal on SQLite, beyond what every journal must do: its files, its thread, its findings.
#include "store/sqlite_journal.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "os/files.h"
#include "os/unique_fd.h"
#include "store/journal_conformance.h"
#include "store/start_marks.h"
#include "store/state_directory_for_test.h"

namespace berth::store {
namespace {

/// As on a network file system: one connection, and no thread beside this one.
class NetworkStateDirectory : public StateDirectory {
 public:
  NetworkStateDirectory() { options.network_file_system = true; }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, JournalConformance, StateDirectory);
INSTANTIATE_TYPED_TEST_SUITE_P(SqliteOnNetwork, JournalConformance, NetworkStateDirectory);

using SqliteJournalTest = StateDirectoryTest;

TEST_F(SqliteJournalTest, SecondDaemonIsToldWhoHasTheDirectory) {
  const OpenedJournal first = start();
  const Result<OpenedJournal> second = state_.open();
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, Errc::kConflict);
  for (const std::string& part : {state_.options.directory, "process " + std::to_string(::getpid()),
                                  std::string("state_dir")}) {
    EXPECT_NE(second.error().message.find(part), std::string::npos) << second.error().message;
  }
}

TEST_F(SqliteJournalTest, NobodyElseCanReadTheFiles) {
  ::umask(0);
  OpenedJournal opened = start();
  ASSERT_TRUE(opened.journal->append(numbered(1, 1)).ok());
  ASSERT_TRUE(wait_for_sync(opened));
  std::size_t seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(state_.options.directory)) {
    struct stat found{};
    ASSERT_EQ(::stat(entry.path().c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777U, 0600u) << entry.path();
    ++seen;
  }
  EXPECT_EQ(seen, 6u);  // Database, log, index, copy, lock, starts.
}

TEST_F(SqliteJournalTest, NothingIsSyncedOnThisThreadAndTheLogIsUsedAgainAndAgain) {
  OpenedJournal opened = start();
  const std::size_t at_start = state_.files.syncs_by(std::this_thread::get_id());
  EXPECT_EQ(at_start, 0u);
  std::size_t restarts = 0;
  std::uint64_t used = 0;
  std::uint64_t used_before = 0;  // Up to the restarts seen.
  std::uint64_t sequence = 0;
  // How often the other thread gets a turn is the machine's business: it goes on until it had two,
  // and has used more than was set aside from the start.
  while ((restarts < 2 || used_before < state_.options.write_ahead.value * 2) &&
         sequence < 200'000) {
    ++sequence;
    ASSERT_TRUE(opened.journal->append(numbered(sequence, 1)).ok());
    const std::uint64_t now = opened.journal->facts().write_ahead_used.value;
    if (now < used) {
      ++restarts;
      used_before += used;
    }
    used = now;
    // Gives the other thread a turn now and then, as a daemon that waits for its poller does.
    if (sequence % 500 == 0) {
      ASSERT_TRUE(wait_for_sync(opened));
    }
  }
  EXPECT_GT(restarts, 1u);
  // No bound in bytes: how far the log grows between two turns is the machine's business as well.
  EXPECT_LT(std::filesystem::file_size(state_.at("leases.db-wal")), used_before + used);
  ASSERT_TRUE(opened.journal->replace(numbered(1, 500), sequence).ok());
  EXPECT_EQ(state_.files.syncs_by(std::this_thread::get_id()), 0u);
  EXPECT_EQ(opened.journal->facts().trouble, "");
}

TEST_F(SqliteJournalTest, CopyIsMadeNowAndThenUnasked) {
  OpenedJournal opened = start();
  pollfd ready{.fd = *opened.sync_descriptor, .events = POLLIN, .revents = 0};
  for (std::uint64_t sequence = 1; sequence <= 1'000; ++sequence) {
    ASSERT_TRUE(opened.journal->append(numbered(sequence, 1)).ok());
    if (sequence == 900) {
      EXPECT_EQ(opened.journal->synced().done, 0u);
    }
  }
  // Checkpoints are told there as well.
  while (opened.journal->synced().done == 0) ASSERT_EQ(::poll(&ready, 1, 30'000), 1);
  EXPECT_GT(opened.journal->synced().done, 900u);
  EXPECT_TRUE(os::exists(state_.at("leases.synced.db")));
}

TEST_F(SqliteJournalTest, BackgroundTroubleIsToldAndPasses) {
  OpenedJournal opened = start();
  ASSERT_TRUE(opened.journal->append(numbered(1, 1)).ok());
  // A directory in the place of the copy.
  std::filesystem::create_directory(state_.at("leases.synced.db"));
  EXPECT_FALSE(wait_for_sync(opened));
  ASSERT_TRUE(opened.journal->synced().trouble);
  EXPECT_NE(opened.journal->facts().trouble.find("leases.synced.db"), std::string::npos);
  ASSERT_TRUE(opened.journal->append(numbered(2, 1)).ok());
  std::filesystem::remove(state_.at("leases.synced.db"));
  EXPECT_TRUE(wait_for_sync(opened));
  EXPECT_EQ(opened.journal->facts().trouble, "");
}

TEST_F(SqliteJournalTest, EndWhileACopyIsMadeIsInOrderAllTheSame) {
  {
    const OpenedJournal opened = start();
    for (std::uint64_t n = 1; n <= 5; ++n) {
      ASSERT_TRUE(opened.journal->replace(numbered(1, 100 * n), 100 * n).ok());
    }
  }
  const std::optional<StartMark> last = StartMarks(state_.at("starts")).last();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->outcome, Outcome::kClosed) << "everything is in the copy";
}

TEST_F(SqliteJournalTest, SpaceThatWasSetAsideTakesRecordsOnAFullDisk) {
  OpenedJournal opened = start();
  ASSERT_TRUE(opened.journal->append(numbered(1, 1)).ok());
  state_.set_full(true);
  std::uint64_t last = 1;
  while (opened.journal->append(numbered(last + 1, 1)).ok()) ++last;
  // A record takes a page or two of the log, now and then a few more.
  EXPECT_GT(last, state_.options.write_ahead.value / 4'120 / 3);
  EXPECT_EQ(std::filesystem::file_size(state_.at("leases.db-wal")),
            state_.options.write_ahead.value);
}

// Real deaths: a process is killed at any instruction while it writes.
TEST_F(SqliteJournalTest, KilledProcessLosesNothingThatItWasToldIsWritten) {
  state_.options.vfs.clear();
  std::uint64_t acknowledged = 0;
  for (int round = 0; round < 12; ++round) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      Result<OpenedJournal> opened = state_.open();
      if (!opened.ok()) ::_exit(1);
      for (std::uint64_t sequence = acknowledged + 1;; ++sequence) {
        Journal& journal = *opened->journal;
        sequence = journal.last_sequence() + 1;
        if (!journal.append(numbered(sequence, 1)).ok()) ::_exit(1);
        if (sequence % 40 == 0 && !journal.replace(numbered(1, 30), sequence).ok()) ::_exit(1);
        if (::write(pipe[1], &sequence, sizeof sequence) != sizeof sequence) ::_exit(1);
      }
    }
    ::close(pipe[1]);
    const os::UniqueFd notified(pipe[0]);
    // Killed after so many answers: at some point within the next.
    for (int answers = 0; answers < 10 + 7 * round; ++answers) {
      ASSERT_EQ(::read(notified.get(), &acknowledged, sizeof acknowledged),
                static_cast<ssize_t>(sizeof acknowledged));
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    while (::read(notified.get(), &acknowledged, sizeof acknowledged) == sizeof acknowledged) {
    }
    state_.pass(seconds(1));
    const OpenedJournal opened = start();
    EXPECT_GE(opened.journal->last_sequence(), acknowledged);
    EXPECT_LE(opened.journal->last_sequence(), acknowledged + 1);
    const std::uint64_t snapshot_at =
        opened.journal->last_sequence() - opened.recovered.records.size();
    EXPECT_EQ(lines_of(opened.recovered.records),
              lines_of(numbered(snapshot_at + 1, opened.recovered.records.size())));
    EXPECT_TRUE(opened.recovered.findings.empty()) << all(opened.recovered.findings);
    acknowledged = opened.journal->last_sequence();
  }
}

}  // namespace
}  // namespace berth::store
