// SPDX-License-Identifier: Apache-2.0
#include "server/budget_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

namespace berth::server {
namespace {

namespace fs = std::filesystem;
using When = BudgetFiles::When;

constexpr DeviceId kDevice = {1, 2};

class FakeClock final : public os::Clock {
 public:
  Instant now() const override { return at; }
  UnixMs wall() const override { return {}; }
  Instant at;
};

class BudgetFilesTest : public ::testing::Test {
 protected:
  ~BudgetFilesTest() override { fs::remove_all(directory_); }

  static std::string make_directory() {
    std::string pattern = "/tmp/berth-budget-files-XXXXXX";
    return ::mkdtemp(pattern.data());
  }
  static Handle handle(std::uint64_t number) { return {number, number}; }
  static std::vector<enforce::Budget> budget(Bytes bytes) { return {{kDevice, bytes}}; }
  bool has_files(Handle lease) const {
    return fs::exists(directory_ + "/leases/" + to_text(lease) + "/limit");
  }
  std::size_t count() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(directory_ + "/leases")) {
      count += entry.is_directory() ? 1U : 0U;
    }
    return count;
  }

  const std::string directory_ = make_directory();
  FakeClock clock_;
  std::vector<std::string> warnings_;
  BudgetFiles files_{{.root = directory_ + "/leases",
                      .readers = enforce::LeaseFiles::Readers::kOwnUser,
                      .context = mib(300)},
                     clock_,
                     [this](const std::string& text) { warnings_.push_back(text); }};
};

TEST_F(BudgetFilesTest, AnOfferHasItsFilesAfterTheTurnAndATakenLeaseAtOnce) {
  files_.hold_to(handle(1), budget(gib(1)), When::kSoon);
  files_.hold_to(handle(2), budget(gib(1)), When::kNow);
  EXPECT_FALSE(has_files(handle(1)));
  EXPECT_TRUE(has_files(handle(2)));
  files_.catch_up();
  EXPECT_TRUE(has_files(handle(1)));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(BudgetFilesTest, AnOfferTakenBackInItsOwnTurnLeavesNothing) {
  files_.hold_to(handle(1), budget(gib(1)), When::kSoon);
  files_.hold_to(handle(1), {}, When::kSoon);
  files_.catch_up();
  EXPECT_FALSE(has_files(handle(1)));
  EXPECT_EQ(files_.next(), Instant::never());
}

TEST_F(BudgetFilesTest, OldFilesGoOneByOneWhenNothingHasHappenedForAWhile) {
  for (std::uint64_t i = 1; i <= 3; ++i) files_.hold_to(handle(i), budget(gib(1)), When::kNow);
  files_.hold_to(handle(1), {}, When::kSoon);
  files_.hold_to(handle(2), {}, When::kSoon);
  files_.tidy();
  EXPECT_EQ(count(), 3U);  // Too soon.
  clock_.at = files_.next();
  files_.tidy();
  EXPECT_EQ(count(), 2U);
  files_.tidy();
  EXPECT_EQ(count(), 1U);
  EXPECT_TRUE(has_files(handle(3)));
  EXPECT_EQ(files_.next(), Instant::never());
}

TEST_F(BudgetFilesTest, WhatIsMadeMeanwhilePutsTheTidyingOff) {
  files_.hold_to(handle(1), budget(gib(1)), When::kNow);
  files_.hold_to(handle(1), {}, When::kSoon);
  clock_.at = files_.next();
  files_.hold_to(handle(2), budget(gib(1)), When::kSoon);
  files_.catch_up();
  files_.tidy();
  EXPECT_EQ(count(), 2U);
}

TEST_F(BudgetFilesTest, OldFilesHaveABound) {
  for (std::uint64_t i = 1; i <= BudgetFiles::kOldMax + 10; ++i) {
    files_.hold_to(handle(i), budget(gib(1)), When::kNow);
    files_.hold_to(handle(i), {}, When::kSoon);
    files_.catch_up();
  }
  EXPECT_EQ(count(), BudgetFiles::kOldMax);
  files_.tidy_all();
  EXPECT_EQ(count(), 0U);
}

// The daemon may be told so while the files of the earlier offer are still there.
TEST_F(BudgetFilesTest, ASecondOfferFindsNothingOfTheFirst) {
  files_.hold_to(handle(1), budget(gib(1)), When::kNow);
  const std::string mark = directory_ + "/leases/" + to_text(handle(1)) + "/mark";
  fs::create_directory(mark);
  files_.hold_to(handle(1), {}, When::kSoon);
  files_.hold_to(handle(1), budget(gib(2)), When::kSoon);
  files_.catch_up();
  EXPECT_TRUE(has_files(handle(1)));
  EXPECT_FALSE(fs::exists(mark));
  clock_.at = clock_.at + seconds(1);
  files_.tidy();
  EXPECT_TRUE(has_files(handle(1)));
}

}  // namespace
}  // namespace berth::server
