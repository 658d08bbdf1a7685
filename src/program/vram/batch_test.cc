// SPDX-License-Identifier: Apache-2.0
#include "vram/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace berth::vram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Batch batch_of(const BatchSettings& settings, std::optional<std::uint64_t> remembered = {}) {
  return *Batch::make(settings, remembered);
}

TEST(Batch, HalvesTheMicroBatchAndDoublesAccumulation) {
  Batch batch = batch_of({.batch = 64});
  EXPECT_EQ(batch.plan(), (BatchPlan{64, 1}));
  for (const BatchPlan expected : {BatchPlan{32, 2}, {16, 4}, {8, 8}, {4, 16}, {2, 32}, {1, 64}}) {
    EXPECT_EQ(*batch.out_of_memory(), expected);
  }
  const auto end = batch.out_of_memory();
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().code, Errc::kExhausted);
  EXPECT_THAT(end.error().message, HasSubstr("micro-batch of 1"));
  EXPECT_THAT(end.error().message, HasSubstr("berth resize"));
}

TEST(Batch, KeepsTheProductForAnySize) {
  for (std::uint64_t size = 1; size <= 200; ++size) {
    Batch batch = batch_of({.batch = size});
    int tries = 0;
    while (true) {
      const auto plan = batch.out_of_memory();
      if (!plan.ok()) break;
      EXPECT_EQ(plan->micro * plan->accumulation, size);
      ++tries;
    }
    EXPECT_LE(tries, 8) << size;
    EXPECT_EQ(batch.plan().micro, 1U);
  }
}

TEST(Batch, GoesNotBelowTheLeast) {
  Batch batch = batch_of({.batch = 64, .micro_min = 16});
  EXPECT_TRUE(batch.out_of_memory().ok());
  EXPECT_TRUE(batch.out_of_memory().ok());
  EXPECT_FALSE(batch.out_of_memory().ok());
  EXPECT_EQ(batch.plan(), (BatchPlan{16, 4}));
}

TEST(Batch, BeginsWithWhatHasWorkedBefore) {
  EXPECT_EQ(batch_of({.batch = 64}, 8).plan(), (BatchPlan{8, 8}));
  EXPECT_EQ(batch_of({.batch = 64}, 7).plan(), (BatchPlan{64, 1})) << "no divisor";
  EXPECT_EQ(batch_of({.batch = 64}, 128).plan(), (BatchPlan{64, 1}));
  EXPECT_EQ(batch_of({.batch = 64, .micro_max = 20}).plan(), (BatchPlan{16, 4}));
}

TEST(Batch, SizesThatMakeNoSenseAreRefused) {
  EXPECT_FALSE(Batch::make({.batch = 0}, {}).ok());
  EXPECT_FALSE(Batch::make({.batch = std::uint64_t{1} << 40U}, {}).ok());
  EXPECT_FALSE(Batch::make({.batch = 8, .micro_min = 9}, {}).ok());
}

TEST(Batch, GrowsByAStepAfterCleanOnes) {
  Batch batch = batch_of({.batch = 64, .grow_after = 10}, 16);
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(batch.clean_step({}));
  EXPECT_TRUE(batch.clean_step({}));
  EXPECT_EQ(batch.plan(), (BatchPlan{32, 2}));
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(batch.clean_step({}));
  EXPECT_TRUE(batch.clean_step({}));
  EXPECT_EQ(batch.plan(), (BatchPlan{64, 1}));
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(batch.clean_step({}));
}

TEST(Batch, GrowsOnlyWhileTheEstimateFits) {
  Batch batch = batch_of({.batch = 64, .grow_after = 1, .bytes_per_sample = mib(10)}, 16);
  EXPECT_FALSE(batch.clean_step(mib(159)));
  EXPECT_TRUE(batch.clean_step(mib(160)));
  EXPECT_EQ(batch.plan().micro, 32U);
}

// A device on which 32 never fits.
TEST(Batch, OscillatesNotMoreThanOnceInFiveHundredSteps) {
  Batch batch = batch_of({.batch = 64, .grow_after = 10});
  std::vector<int> failed_at;
  for (int step = 0; step < 5'000; ++step) {
    while (batch.plan().micro >= 32) {
      ASSERT_TRUE(batch.out_of_memory().ok());
      failed_at.push_back(step);
    }
    batch.clean_step({});
  }
  ASSERT_GE(failed_at.size(), 4U);
  for (std::size_t i = 3; i < failed_at.size(); ++i) {
    EXPECT_GE(failed_at[i] - failed_at[i - 1], 500);
  }
  EXPECT_LE(failed_at.size(), 6U) << "each wait is twice the last";
  EXPECT_EQ(batch.worked(), 16U);
}

TEST(Batch, FirstGuessIsThePlainFormula) {
  struct Case {
    double free_gib;
    std::uint64_t expected;
  };
  // A model of 1.5 GiB and 2 GiB of overhead.
  for (const Case& row : {Case{8, 1}, Case{16, 3}, Case{24, 5}, Case{1, 1}, Case{0, 1}}) {
    const Bytes free = {static_cast<std::uint64_t>(row.free_gib * (1U << 30U))};
    EXPECT_EQ(first_guess({.free = free, .overhead = gib(2), .model = mib(1'536)}), row.expected)
        << row.free_gib;
  }
  EXPECT_EQ(first_guess({.free = gib(8), .overhead = {}, .model = {}}), 1U);
}

struct Searched {
  std::vector<std::uint64_t> tried;
  std::optional<std::uint64_t> best;
};
Searched search(BatchSearch::Settings settings, std::uint64_t limit) {
  BatchSearch search(settings);
  Searched searched;
  while (const auto size = search.next()) {
    searched.tried.push_back(*size);
    search.tried(*size, *size <= limit);
  }
  searched.best = search.best();
  return searched;
}

TEST(BatchSearch, FindsTheLargestThatFitsLessTheMargin) {
  for (std::uint64_t limit = 1; limit <= 300; ++limit) {
    for (const std::uint64_t guess : {1U, 3U, 64U, 1'000U}) {
      const Searched found = search({.guess = guess, .max = 512, .margin = 0.05}, limit);
      ASSERT_TRUE(found.best);
      EXPECT_LE(*found.best, limit);
      EXPECT_GE(static_cast<double>(*found.best), static_cast<double>(limit) * 0.9 - 1) << limit;
      EXPECT_LE(found.tried.size(), std::size_t{BatchSearch::kTrialsMax});
    }
  }
}

TEST(BatchSearch, AGoodGuessTakesTwoTrials) {
  EXPECT_THAT(search({.guess = 64, .max = 64, .margin = 0}, 64).tried, ElementsAre(64));
  EXPECT_THAT(search({.guess = 64, .max = 512, .margin = 0.6}, 100).tried,
              ElementsAre(64, 128, 96));
}

TEST(BatchSearch, TheMarginIsTakenOffTheLargestThatFitted) {
  EXPECT_EQ(search({.guess = 64, .max = 64, .margin = 0.25}, 64).best, 48U);
}

TEST(BatchSearch, WhereNothingFitsThereIsNoAnswer) {
  const Searched found = search({.guess = 16, .max = 64}, 0);
  EXPECT_THAT(found.tried, ElementsAre(16, 8, 4, 2, 1));
  EXPECT_FALSE(found.best);
}

}  // namespace
}  // namespace berth::vram
