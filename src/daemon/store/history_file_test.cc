// SPDX-License-Identifier: Apache-2.0
#include "store/history_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "history/rollup.h"
#include "store/faulty_files_for_test.h"
#include "store/schema.h"

namespace berth::store {
namespace {

using history::Bucket;
using history::Figure;
using history::Kind;
using history::Past;
using history::Question;
using history::Retention;
using history::Series;
using history::Session;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr DeviceId kCard = {.high = 1, .low = 2};
constexpr std::int64_t kTen = 1'770'458'400;  // 2026-02-07T10:00:00Z: a whole hour.
constexpr Retention kKept = {
    .second = hours(1), .minute = hours(168), .hour = hours(2'160), .size_max = gib(1)};

Bucket at_second(std::int64_t second, std::uint64_t value) {
  return {.start = second, .known = 1, .least = {value}, .most = {value}, .total = value};
}

Series series_of(std::vector<Bucket> buckets, LeaseId lease = {}, std::int32_t pid = 0) {
  return {.subject = {.device = kCard, .lease = lease, .process = {pid, 7}},
          .name = pid == 0 ? "" : "python",
          .user = {1000},
          .buckets = std::move(buckets)};
}

std::vector<Bucket> seconds_from(std::int64_t from, std::int64_t count, std::uint64_t value) {
  std::vector<Bucket> buckets;
  for (std::int64_t i = 0; i < count; ++i) buckets.push_back(at_second(from + i, value));
  return buckets;
}

Question from_to(std::int64_t from, std::int64_t to, std::int64_t step) {
  return {.since = {from * 1'000}, .until = {to * 1'000}, .step = seconds(step)};
}

class HistoryFileTest : public testing::Test {
 protected:
  HistoryFileTest() {
    std::string name = testing::TempDir() + "berth-history-XXXXXX";
    CHECK(::mkdtemp(name.data()) != nullptr);
    directory_ = name;
    options_ = {
        .path = directory_ + "/history.db", .wall = {kTen * 1'000}, .vfs = FaultyFiles::kName};
  }
  ~HistoryFileTest() override { std::filesystem::remove_all(directory_); }

  HistoryFile start() {
    findings_.clear();
    Result<HistoryFile> file = HistoryFile::open(options_, findings_);
    EXPECT_TRUE(file.ok()) << file.error().message;
    return *std::move(file);
  }
  static void put(HistoryFile& file, std::vector<Series> series) {
    const Status written = file.write(series, {}, {kTen * 1'000});
    ASSERT_TRUE(written.ok()) << written.error().message;
  }
  static Past read(HistoryFile& file, const Question& question, std::int64_t now) {
    Result<Past> past = file.read(question, kKept, {now * 1'000});
    EXPECT_TRUE(past.ok()) << past.error().message;
    return *std::move(past);
  }
  std::size_t files_named(const std::string& end) const {
    std::size_t found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      if (entry.path().filename().string().ends_with(end)) ++found;
    }
    return found;
  }
  /// Where no connection is open.
  void scribble(std::streamoff from, std::size_t count) const {
    std::fstream file(options_.path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(from);
    file << std::string(count, '\x5a');
  }

  FaultyFiles files_;
  std::string directory_;
  HistoryOptions options_;
  std::vector<std::string> findings_;
};

TEST_F(HistoryFileTest, SecondsMinutesAndHoursTellTheSame) {
  HistoryFile file = start();
  std::vector<Bucket> buckets;
  for (std::int64_t i = 0; i < 3'700; ++i) {
    buckets.push_back(at_second(kTen + i, static_cast<std::uint64_t>(i / 40)));
  }
  // In the parts in which a daemon writes them.
  for (std::size_t i = 0; i < buckets.size(); i += 10) {
    put(file, {series_of({buckets.begin() + static_cast<std::ptrdiff_t>(i),
                          buckets.begin() + static_cast<std::ptrdiff_t>(i + 10)})});
  }
  const std::int64_t now = kTen + 3'700;
  for (const std::uint32_t step : {1U, 7U, 60U, 300U, 3'600U}) {
    // From beyond the first second on, a step may begin before what was asked for.
    const Past past = read(file, from_to(kTen + 110, now, step), now);
    EXPECT_EQ(past.step, seconds(step));
    ASSERT_THAT(past.series, SizeIs(1)) << step;
    std::vector<Bucket> expected = history::rolled_up(buckets, step);
    const std::int64_t from = history::start_of(kTen + 110, step);
    std::erase_if(expected, [&](const Bucket& bucket) { return bucket.start < from; });
    EXPECT_EQ(past.series[0].buckets, expected) << step;
  }
}

TEST_F(HistoryFileTest, AMinuteWrittenInPartsIsWhole) {
  HistoryFile file = start();
  put(file, {series_of(seconds_from(kTen, 10, 5))});
  put(file, {series_of(seconds_from(kTen + 10, 10, 15))});
  const Past past = read(file, from_to(kTen, kTen + 60, 60), kTen + 60);
  ASSERT_THAT(past.series, SizeIs(1));
  EXPECT_EQ(past.series[0].buckets[0],
            (Bucket{.start = kTen, .known = 20, .least = {5}, .most = {15}, .total = 200}));
}

TEST_F(HistoryFileTest, ADaemonThatWasKilledLosesNoMinute) {
  options_.vfs.clear();
  const pid_t child = ::fork();
  if (child == 0) {
    Result<HistoryFile> file = HistoryFile::open(options_, findings_);
    const std::vector<Series> first = {series_of(seconds_from(kTen, 10, 5))};
    ::_exit(file.ok() && file->write(first, {}, {}).ok() ? 0 : 1);  // Without closing anything.
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  HistoryFile file = start();
  EXPECT_THAT(findings_, IsEmpty());
  put(file, {series_of(seconds_from(kTen + 20, 10, 5))});
  const Past past = read(file, from_to(kTen, kTen + 60, 60), kTen + 60);
  EXPECT_EQ(past.series.at(0).buckets.at(0).known, 20U);
}

TEST_F(HistoryFileTest, AClockThatIsSetBackMakesNoMinuteLonger) {
  HistoryFile file = start();
  put(file, {series_of(seconds_from(kTen, 60, 1'000))});
  put(file, {series_of(seconds_from(kTen, 60, 3'000))});
  put(file, {series_of(seconds_from(kTen - 7'200, 10, 5'000))});
  for (const std::int64_t step : {60, 3'600}) {
    const Past past = read(file, from_to(kTen, kTen + 60, step), kTen + 60);
    ASSERT_THAT(past.series, SizeIs(1));
    ASSERT_THAT(past.series[0].buckets, SizeIs(1));
    const Bucket& both = past.series[0].buckets[0];
    EXPECT_LE(both.known, step);
    EXPECT_EQ(both.least, Bytes{1'000});
    EXPECT_EQ(both.most, Bytes{3'000});
    EXPECT_EQ(both.mean(), Bytes{2'000});
  }
  const Past before = read(file, from_to(kTen - 7'200, kTen - 7'100, 1), kTen);
  EXPECT_EQ(before.series.at(0).buckets.size(), 1U);
  const Status pruned = file.prune(kKept, {(kTen - 7'190) * 1'000});
  EXPECT_TRUE(pruned.ok());
  EXPECT_FALSE(read(file, from_to(kTen, kTen + 60, 60), kTen + 60).series.empty())
      << "it is not lost, though it lies ahead";
}

TEST_F(HistoryFileTest, EachKindIsToldByItself) {
  HistoryFile file = start();
  put(file,
      {series_of(seconds_from(kTen, 1, 1)), series_of(seconds_from(kTen, 1, 2), {4}),
       series_of(seconds_from(kTen, 1, 3), {4}, 77), series_of(seconds_from(kTen, 1, 4), {5})});
  const auto lines = [&](std::optional<Kind> kind, std::optional<LeaseId> lease) {
    Question question = from_to(kTen, kTen + 1, 1);
    question.kind = kind;
    question.lease = lease;
    return read(file, question, kTen + 1).series.size();
  };
  EXPECT_EQ(lines({}, {}), 4U);
  EXPECT_EQ(lines(Kind::kDevice, {}), 1U);
  EXPECT_EQ(lines(Kind::kLease, {}), 2U);
  EXPECT_EQ(lines({}, LeaseId{4}), 2U);
  EXPECT_EQ(lines(Kind::kProcess, LeaseId{4}), 1U);
  Question other = from_to(kTen, kTen + 1, 1);
  other.device = DeviceId{.high = 9};
  EXPECT_THAT(read(file, other, kTen + 1).series, IsEmpty());
}

TEST_F(HistoryFileTest, EachGrainIsKeptForItsTime) {
  HistoryFile file = start();
  put(file, {series_of(seconds_from(kTen, 10, 5))});
  const auto count = [&](std::int64_t now, std::int64_t step) {
    const Past past = read(file, from_to(kTen, kTen + 3'600, step), now);
    return past.series.empty() ? std::size_t{0} : past.series[0].buckets.size();
  };
  ASSERT_TRUE(file.prune(kKept, {(kTen + 600) * 1'000}).ok());
  EXPECT_EQ(count(kTen + 600, 1), 10U);
  const std::int64_t two_hours = kTen + 7'200;
  ASSERT_TRUE(file.prune(kKept, {two_hours * 1'000}).ok());
  EXPECT_EQ(count(kTen + 600, 1), 0U) << "of seconds nothing is left";
  EXPECT_EQ(count(two_hours, 1), 1U) << "told by minutes";
  const std::int64_t nine_days = kTen + 777'600;
  ASSERT_TRUE(file.prune(kKept, {nine_days * 1'000}).ok());
  EXPECT_EQ(count(two_hours, 60), 0U);
  EXPECT_EQ(count(nine_days, 60), 1U) << "told by hours";
  const std::int64_t late = kTen + 7'862'400;
  ASSERT_TRUE(file.prune(kKept, {late * 1'000}).ok());
  EXPECT_EQ(count(late, 3'600), 0U);
}

TEST_F(HistoryFileTest, IsHeldToItsSizeAndLosesTheOldestFirst) {
  HistoryFile file = start();
  for (int lease = 1; lease <= 40; ++lease) {
    std::vector<Bucket> buckets;
    for (std::int64_t i = 0; i < 2'000; ++i) {
      buckets.push_back(at_second(kTen + i, static_cast<std::uint64_t>(i * 1'000'003 % 99'991)));
    }
    put(file, {series_of(std::move(buckets), {static_cast<std::uint64_t>(lease)})});
  }
  Retention small = kKept;
  small.size_max = kib(600);
  ASSERT_GT(*file.used(), small.size_max);
  ASSERT_TRUE(file.prune(small, {(kTen + 2'000) * 1'000}).ok());
  EXPECT_LE(*file.used(), small.size_max);
  const Past past = read(file, from_to(kTen, kTen + 2'000, 1), kTen + 2'000);
  ASSERT_THAT(past.series, SizeIs(40));
  EXPECT_EQ(past.series[0].buckets.back().start, kTen + 1'999);
  EXPECT_GT(past.series[0].buckets.front().start, kTen);
}

TEST_F(HistoryFileTest, FormerProcessesGoBeforeTheDevicesFigures) {
  HistoryFile file = start();
  put(file, {series_of(seconds_from(kTen, 900, 1))});
  for (std::int32_t pid = 1; pid <= 2'000; ++pid) {
    put(file, {series_of(seconds_from(kTen + pid % 800, 1, 1), {}, pid)});
  }
  Retention small = kKept;
  small.size_max = Bytes{file.used()->value / 4 * 3};
  ASSERT_TRUE(file.prune(small, {(kTen + 900) * 1'000}).ok());
  EXPECT_LE(*file.used(), small.size_max);
  Question question = from_to(kTen, kTen + 900, 1);
  question.kind = Kind::kDevice;
  const Past past = read(file, question, kTen + 900);
  ASSERT_THAT(past.series, SizeIs(1));
  EXPECT_EQ(past.series[0].buckets.size(), 900U);
}

Session session_of(std::uint64_t id) {
  return {.id = {id},
          .user = {1000},
          .name = "train",
          .session = "me",
          .share = Share::kExclusive,
          .devices = 2,
          .granted = gib(8),
          .queued = {kTen * 1'000 - 5'000},
          .started = {kTen * 1'000},
          .peak = gib(3),
          .known_ms = 1'000,
          .used_mib_ms = 10,
          .unused_mib_ms = 20};
}

TEST_F(HistoryFileTest, FiguresOfALeaseAddUpUntilItHasEnded) {
  HistoryFile file = start();
  Session session = session_of(7);
  ASSERT_TRUE(file.write({}, std::vector{session}, {kTen * 1'000}).ok());
  session.peak = gib(2);
  session.ended = UnixMs{kTen * 1'000 + 60'000};
  session.result = EndResult::kFailed;
  ASSERT_TRUE(file.write({}, std::vector{session}, {kTen * 1'000}).ok());
  const auto all = file.sessions(from_to(kTen, kTen + 100, 0));
  ASSERT_TRUE(all.ok());
  ASSERT_THAT(*all, SizeIs(1));
  const Session& notified = all->front();
  EXPECT_EQ(notified.name, "train");
  EXPECT_EQ(notified.share, Share::kExclusive);
  EXPECT_EQ(notified.known_ms, 2'000U);
  EXPECT_EQ(notified.used_mib_ms, 20U);
  EXPECT_EQ(notified.unused_mib_ms, 40U);
  EXPECT_EQ(notified.peak, gib(3)) << "a peak stays";
  EXPECT_EQ(notified.result, EndResult::kFailed);
  EXPECT_EQ(notified.ended, session.ended);
}

TEST_F(HistoryFileTest, WhatIsUnknownOfALeaseStaysUnknown) {
  HistoryFile file = start();
  Session session = session_of(7);
  session.peak.reset();
  ASSERT_TRUE(file.write({}, std::vector{session_of(6), session}, {kTen * 1'000}).ok());
  const auto all = file.sessions(from_to(kTen, kTen + 100, 0));
  ASSERT_TRUE(all.ok());
  ASSERT_THAT(*all, SizeIs(2));
  EXPECT_EQ((*all)[1].peak, std::nullopt);
  EXPECT_EQ((*all)[1].ended, std::nullopt);
  EXPECT_EQ((*all)[1].result, std::nullopt);
}

TEST_F(HistoryFileTest, SessionsOfATimeAreThoseThatHeldSomethingThen) {
  HistoryFile file = start();
  Session over = session_of(1);
  over.ended = UnixMs{(kTen + 10) * 1'000};
  Session later = session_of(2);
  later.started = {(kTen + 500) * 1'000};
  ASSERT_TRUE(file.write({}, std::vector{over, later, session_of(3)}, {kTen * 1'000}).ok());
  const auto ids = [&](std::int64_t from, std::int64_t to) {
    std::vector<std::uint64_t> found;
    const auto sessions = file.sessions(from_to(from, to, 0));
    for (const Session& session : *sessions) {
      found.push_back(session.id.value);
    }
    return found;
  };
  EXPECT_THAT(ids(kTen, kTen + 20), testing::ElementsAre(1, 3));
  EXPECT_THAT(ids(kTen + 20, kTen + 30), testing::ElementsAre(3));
  EXPECT_THAT(ids(kTen + 20, kTen + 600), testing::ElementsAre(2, 3));
}

TEST_F(HistoryFileTest, LeasesThatNobodyKnowsAnyMoreWereLost) {
  HistoryFile file = start();
  Session over = session_of(1);
  over.ended = UnixMs{kTen * 1'000 + 1};
  over.result = EndResult::kOk;
  const std::vector<Session> three = {over, session_of(2), session_of(3)};
  ASSERT_TRUE(file.write({}, three, {kTen * 1'000 + 7'000}).ok());
  ASSERT_TRUE(file.end_all_but({{3}}).ok());
  const auto all = file.sessions(from_to(kTen, kTen + 100, 0));
  ASSERT_TRUE(all.ok());
  ASSERT_THAT(*all, SizeIs(3));
  EXPECT_EQ((*all)[0].result, EndResult::kOk);
  EXPECT_EQ((*all)[1].result, EndResult::kLost);
  EXPECT_EQ((*all)[1].ended, UnixMs{kTen * 1'000 + 7'000});
  EXPECT_EQ((*all)[2].ended, std::nullopt);
}

TEST_F(HistoryFileTest, DamagedFileIsMovedAsideAndSaidAloud) {
  {
    put(*std::make_unique<HistoryFile>(start()), {series_of(seconds_from(kTen, 1, 1))});
  }
  scribble(0, 300);
  HistoryFile file = start();
  ASSERT_THAT(findings_, SizeIs(2));
  EXPECT_THAT(findings_[1],
              HasSubstr("history.db was moved to history.db.20260207T100000Z.corrupt"));
  EXPECT_EQ(files_named(".corrupt"), 1U);
  put(file, {series_of(seconds_from(kTen, 1, 1))});
}

TEST_F(HistoryFileTest, OneThatWasRemovedIsBegunAnewWithoutItsLog) {
  auto file = std::make_unique<HistoryFile>(start());
  put(*file, {series_of(seconds_from(kTen, 10, 1))});
  EXPECT_TRUE(file->is_in_place());
  std::filesystem::remove(options_.path);
  EXPECT_FALSE(file->is_in_place());
  ASSERT_TRUE(std::filesystem::exists(options_.path + "-wal")) << "it is left, and full";
  HistoryFile another = start();
  EXPECT_THAT(findings_, IsEmpty());
  EXPECT_TRUE(another.is_in_place());
  put(another, {series_of(seconds_from(kTen + 60, 10, 2))});
  file.reset();
  const Past past = read(another, from_to(kTen, kTen + 120, 60), kTen + 120);
  ASSERT_THAT(past.series, SizeIs(1));
  ASSERT_THAT(past.series[0].buckets, SizeIs(1)) << "nothing of the former";
  EXPECT_EQ(past.series[0].buckets[0].known, 10U);
}

TEST_F(HistoryFileTest, ADatabaseOfSomethingElseIsMovedAsideToo) {
  {
    Result<Database> other = Database::open(options_.path, Database::Access::kCreate, nullptr);
    ASSERT_TRUE(other->execute("CREATE TABLE recipes (name TEXT)").ok());
  }
  start();
  EXPECT_EQ(files_named(".corrupt"), 1U);
}

TEST_F(HistoryFileTest, FileOfTheFormerReleaseGoesOnAsOneOfThis) {
  {
    start();
  }
  {
    Result<Database> other = Database::open(options_.path, Database::Access::kReadWrite, nullptr);
    ASSERT_TRUE(other->execute("PRAGMA user_version = 1").ok());
  }
  ASSERT_TRUE(HistoryFile::open(options_, findings_).ok());
  Result<Database> other = Database::open(options_.path, Database::Access::kReadOnly, nullptr);
  EXPECT_EQ(*other->number("PRAGMA user_version"), HistoryFile::kVersion);
}

TEST_F(HistoryFileTest, FileOfALaterReleaseIsRefusedAndNotTouched) {
  {
    start();
  }
  {
    Result<Database> other = Database::open(options_.path, Database::Access::kReadWrite, nullptr);
    ASSERT_TRUE(other->execute("PRAGMA user_version = 3").ok());
  }
  const auto before = std::filesystem::file_size(options_.path);
  const Result<HistoryFile> refused = HistoryFile::open(options_, findings_);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::kVersion);
  EXPECT_THAT(refused.error().message, HasSubstr("format 3"));
  EXPECT_EQ(std::filesystem::file_size(options_.path), before);
  EXPECT_EQ(files_named(".corrupt"), 0U);
}

TEST_F(HistoryFileTest, OnAFullDiskNothingIsWrittenByHalf) {
  HistoryFile file = start();
  put(file, {series_of(seconds_from(kTen, 10, 1))});
  files_.set_full(true);
  Status last = Unit{};
  std::int64_t written = 10;
  while (last.ok() && written < 100'000) {
    last = file.write(std::vector{series_of(seconds_from(kTen + written, 10, 1), {3})}, {}, {});
    if (last.ok()) written += 10;
  }
  ASSERT_FALSE(last.ok());
  EXPECT_EQ(last.error().code, Errc::kFull) << last.error().message;
  files_.set_full(false);
  put(file, {series_of(seconds_from(kTen + written, 10, 1), {3})});
  const Past past = read(file, from_to(kTen, kTen + written + 10, 86'400), kTen + written + 10);
  std::uint64_t known = 0;
  for (const Series& series : past.series) {
    for (const Bucket& bucket : series.buckets) known += bucket.known;
  }
  EXPECT_EQ(known, static_cast<std::uint64_t>(written + 10));
}

TEST_F(HistoryFileTest, AWriteThatFailsHalfWayLeavesWhatWasThere) {
  HistoryFile file = start();
  put(file, {series_of(seconds_from(kTen, 10, 1))});
  files_.fail_write(2, FaultyFiles::After::kGoOn);
  EXPECT_FALSE(file.write(std::vector{series_of(seconds_from(kTen + 10, 10, 1))}, {}, {}).ok());
  put(file, {series_of(seconds_from(kTen + 10, 10, 1))});
  const Past past = read(file, from_to(kTen, kTen + 20, 60), kTen + 20);
  EXPECT_EQ(past.series.at(0).buckets.at(0).known, 20U);
}

TEST_F(HistoryFileTest, NobodyElseCanReadTheFiles) {
  ::umask(0);
  HistoryFile file = start();
  put(file, {series_of(seconds_from(kTen, 10, 1))});
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    struct stat found{};
    ASSERT_EQ(::stat(entry.path().c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777U, 0600U) << entry.path();
  }
}

TEST_F(HistoryFileTest, AnswersAreBounded) {
  HistoryFile file = start();
  for (std::uint64_t lease = 1; lease <= 30; ++lease) {
    put(file, {series_of(seconds_from(kTen, 2'000, lease), {lease})});
  }
  const Past past = read(file, from_to(kTen, kTen + 2'000, 1), kTen + 2'000);
  EXPECT_TRUE(past.cut);
  std::size_t points = 0;
  for (const Series& series : past.series) points += series.buckets.size();
  EXPECT_LE(points, HistoryFile::kPointsMax);
  EXPECT_FALSE(read(file, from_to(kTen, kTen + 2'000, 60), kTen + 2'000).cut);
}

}  // namespace
}  // namespace berth::store
