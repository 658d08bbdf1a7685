// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <map>

#include "store/history_file.h"

namespace berth::store {
namespace {

using history::Bucket;
using history::Kind;
using history::Question;
using history::Retention;
using history::Series;
using history::Session;

constexpr std::int64_t kNoon = 1'770'465'600;
constexpr UserId kAlice{1000};
constexpr UserId kBob{1001};
constexpr Question kOfThatHour = {
    .since = {kNoon * 1'000}, .until = {(kNoon + 3'600) * 1'000}, .step = seconds(1)};

Series hers_or_his(UserId user, LeaseId lease, std::int64_t count, std::int32_t pid = 0) {
  Series series{.subject = {.device = {.high = 1}, .lease = lease, .process = {pid, 7}},
                .user = user};
  for (std::int64_t i = 0; i < count; ++i) {
    const Bytes value{static_cast<std::uint64_t>(i * 1'000'003 % 99'991)};
    series.buckets.push_back(
        {.start = kNoon + i, .known = 1, .least = value, .most = value, .total = value.value});
  }
  return series;
}

Session ended_one(UserId user, std::uint64_t id) {
  return {.id = {id},
          .user = user,
          .name = "train",
          .started = {kNoon * 1'000},
          .ended = UnixMs{kNoon * 1'000 + 1},
          .result = EndResult::kOk};
}

class HistoryBounds : public testing::Test {
 protected:
  HistoryBounds() {
    std::string name = testing::TempDir() + "berth-bounds-XXXXXX";
    CHECK(::mkdtemp(name.data()) != nullptr);
    directory_ = name;
    std::vector<std::string> findings;
    Result<HistoryFile> file =
        HistoryFile::open({.path = directory_ + "/history.db", .wall = {}}, findings);
    CHECK(file.ok());
    file_.emplace(*std::move(file));
  }
  ~HistoryBounds() override { std::filesystem::remove_all(directory_); }

  void put(const std::vector<Series>& series, const std::vector<Session>& leases = {}) {
    const Status written = file_->write(series, leases, {kNoon * 1'000});
    ASSERT_TRUE(written.ok()) << written.error().message;
  }
  void bound_to(Bytes size) {
    const Retention kept = {
        .second = hours(1), .minute = hours(168), .hour = hours(2'160), .size_max = size};
    ASSERT_GT(*file_->used(), size);
    ASSERT_TRUE(file_->prune(kept, {(kNoon + 3'000) * 1'000}).ok());
    EXPECT_LE(*file_->used(), size);
  }
  std::map<UserId, std::uint64_t> sessions() {
    std::map<UserId, std::uint64_t> found;
    const auto all = file_->sessions(kOfThatHour);
    EXPECT_TRUE(all.ok());
    EXPECT_TRUE(std::ranges::is_sorted(*all, {}, &Session::id));
    for (const Session& session : *all) ++found[session.user];
    return found;
  }
  std::map<UserId, std::uint64_t> points() {
    const Retention kept = {.second = hours(1), .minute = hours(168), .hour = hours(2'160)};
    std::map<UserId, std::uint64_t> found;
    const auto past = file_->read(kOfThatHour, kept, {(kNoon + 3'000) * 1'000});
    EXPECT_TRUE(past.ok());
    cut_ = past->cut;
    for (const Series& series : past->series) found[series.user] += series.buckets.size();
    return found;
  }

  std::string directory_;
  std::optional<HistoryFile> file_;
  bool cut_ = false;
};

TEST_F(HistoryBounds, OneUsersFiguresGoBeforeAnyOfAnothersFew) {
  put({hers_or_his(kAlice, {1}, 900)});
  for (std::uint64_t lease = 2; lease <= 40; ++lease) put({hers_or_his(kBob, {lease}, 1'000)});
  bound_to(kib(400));
  EXPECT_EQ(points()[kAlice], 900U) << "as old as his, and less";
}

TEST_F(HistoryBounds, ManyProcessesOfOneUserCostAnotherNone) {
  put({hers_or_his(kAlice, {1}, 100, 5)});
  std::vector<Series> his;
  for (std::int32_t pid = 1; pid <= 2'000; ++pid) his.push_back(hers_or_his(kBob, {2}, 3, pid));
  put(his);
  bound_to(kib(200));
  EXPECT_EQ(points()[kAlice], 100U);
}

TEST_F(HistoryBounds, EndedLeasesCountAndTheOldestOfTheUserWithMostGo) {
  put({hers_or_his(kAlice, {1}, 300)}, {ended_one(kAlice, 1)});
  std::vector<Session> his;
  for (std::uint64_t id = 2; id <= 9'000; ++id) his.push_back(ended_one(kBob, id));
  put({}, his);
  bound_to(kib(300));
  std::map<UserId, std::uint64_t> left = sessions();
  EXPECT_EQ(left[kAlice], 1U);
  EXPECT_EQ(points()[kAlice], 300U);
  EXPECT_GT(left[kBob], 500U);
  EXPECT_LT(left[kBob], 8'000U);
  Question last = kOfThatHour;
  last.lease = LeaseId{9'000};
  EXPECT_EQ(file_->sessions(last)->size(), 1U) << "his youngest is there";
}

TEST_F(HistoryBounds, AnAnswerHasAShareForEachUsersSessions) {
  std::vector<Session> leases;
  for (std::uint64_t id = 1; id <= 200; ++id) leases.push_back(ended_one(kAlice, id));
  for (std::uint64_t id = 201; id <= 12'000; ++id) leases.push_back(ended_one(kBob, id));
  put({}, leases);
  std::map<UserId, std::uint64_t> per_user = sessions();
  EXPECT_EQ(per_user[kAlice], 200U) << "older than all of his";
  EXPECT_EQ(per_user[kBob], HistoryFile::kSessionsMax - 200);
  EXPECT_EQ(file_->sessions(kOfThatHour)->back().id, LeaseId{12'000});
}

TEST_F(HistoryBounds, AnAnswerHasAShareForEachUsersFigures) {
  for (std::uint64_t lease = 1; lease <= 45; ++lease) put({hers_or_his(kBob, {lease}, 1'000)});
  put({hers_or_his(kAlice, {50}, 1'000)});
  std::map<UserId, std::uint64_t> per_user = points();
  EXPECT_TRUE(cut_);
  EXPECT_EQ(per_user[kAlice], 1'000U) << "younger than all of his";
  EXPECT_GT(per_user[kBob], 30'000U);
}

}  // namespace
}  // namespace berth::store
