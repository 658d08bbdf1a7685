// SPDX-License-Identifier: Apache-2.0
#include "sim/seeds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/sanitizers.h"
#include "model/record.h"

namespace berth::sim {
namespace {

TEST(Seeds, OneSeedIsOneWorldHoweverOftenItRuns) {
  for (std::uint64_t seed = 1; seed <= (kRepeatedShare > 1 ? 1U : 3U); ++seed) {
    const Outcome once = run_seed(seed, false);
    const Outcome again = run_seed(seed, false);
    EXPECT_EQ(once.broken, "");
    EXPECT_EQ(once.trace_hash, again.trace_hash);
    EXPECT_EQ(once.events, again.events);
    EXPECT_EQ(once.coverage, again.coverage);
  }
}

TEST(Seeds, TwoSeedsAreTwoWorlds) {
  EXPECT_NE(run_seed(1, false).trace_hash, run_seed(2, false).trace_hash);
}

TEST(Seeds, HowManyThreadsRunThemChangesNothing) {
  const Range range{.first = 10, .count = kRepeatedShare > 1 ? 2U : 8U};
  std::mutex mutex;
  std::set<std::uint64_t> seen;
  const Summary alone = run_seeds(range, 1);
  const Summary beside = run_seeds(range, 3, [&](std::uint64_t seed) {
    const std::scoped_lock lock(mutex);
    seen.insert(seed);
  });
  EXPECT_EQ(alone.broken, "");
  EXPECT_EQ(beside.broken, "");
  EXPECT_EQ(alone.seeds, range.count);
  EXPECT_EQ(beside.seeds, range.count);
  EXPECT_EQ(alone.events, beside.events);
  EXPECT_EQ(seen.size(), range.count);
}

TEST(Seeds, EachHasAHashOfWhatWasWrittenInItsPlace) {
  const Summary summary = run_seeds({.first = 1, .count = 2}, 2);
  const std::vector<std::uint64_t> alone = {run_seed(1, false).journal_hash,
                                            run_seed(2, false).journal_hash};
  EXPECT_EQ(summary.journals, alone);
  EXPECT_NE(alone[0], alone[1]);
}

// What is shrunk for an urgent request makes room for it at once, and leaves until it is seen
// small.
TEST(Seeds, WhoMakesRoomForAProposalLeaves) {
  EXPECT_EQ(run_seed(62'968'007'388'197, false).broken, "");
}

// A seed in which little happened shows nothing.
TEST(Seeds, ASeedCountsFromTwoThousandEventsEightSessionsAndTwentyFaultsOn) {
  Outcome outcome{.broken = "", .events = 2'000, .sessions = 8, .trace_hash = 0, .coverage = {}};
  for (int i = 0; i < 19; ++i) outcome.coverage.dealt(Fault::kLeak);
  EXPECT_FALSE(outcome.counts());
  outcome.coverage.dealt(Fault::kLeak);
  EXPECT_TRUE(outcome.counts());
  outcome.events = 1'999;
  EXPECT_FALSE(outcome.counts());
  outcome.events = 2'000;
  outcome.sessions = 7;
  EXPECT_FALSE(outcome.counts());
}

TEST(Seeds, EverySeedThatRunsCounts) {
  for (std::uint64_t seed = 100; seed < 100 + 10 / kRepeatedShare; ++seed) {
    EXPECT_TRUE(run_seed(seed, false).counts()) << seed;
  }
}

TEST(Coverage, WhatFewerThanOneSeedInAHundredReachedIsMissed) {
  Coverage all;
  for (std::size_t i = 0; i < kFaultCount; ++i) all.dealt(static_cast<Fault>(i));
  for (std::size_t i = 0; i < kWordsOf<Moment>.size(); ++i) all.reached(static_cast<Moment>(i));
  all.wrote(RequestQueued{});
  CoverageOfSeeds seeds;
  seeds.add(all, false);
  for (int i = 0; i < 99; ++i) seeds.add({}, false);
  EXPECT_EQ(seeds.missed(), "request_passed");
  seeds.add({}, false);
  EXPECT_EQ(seeds.missed(), "client hangs up");
}

// A field that is added to a record, or a word to one of its enumerations, has to be reached.
TEST(Coverage, EachWordThatARecordCanSayIsToBeWritten) {
  Coverage all;
  for (std::size_t i = 0; i < kFaultCount; ++i) all.dealt(static_cast<Fault>(i));
  for (std::size_t i = 0; i < kWordsOf<Moment>.size(); ++i) all.reached(static_cast<Moment>(i));
  const auto missed = [&] {
    CoverageOfSeeds seeds;
    seeds.add(all, false);
    return seeds.missed();
  };
  all.wrote(RequestQueued{});
  all.wrote(RequestPassed{});
  all.wrote(RequestParked{.parked = true});
  EXPECT_EQ(missed(), "request_parked not parked");
  all.wrote(RequestParked{.parked = false});
  EXPECT_EQ(missed(), "lease_granted");
}

// Machines up to seed 10 000 have no jobs, and nobody who edits a request.
TEST(Coverage, WhatOnlyJobsReachIsMissedWhereThereAreJobs) {
  const auto missed = [](bool has_jobs, std::string_view name) {
    CoverageOfSeeds seeds;
    seeds.add(CoverageOfSeeds::all_but(name), has_jobs);
    return seeds.missed();
  };
  for (const std::string_view name : {"request_kept", "command_ended kind shutdown"}) {
    EXPECT_EQ(missed(true, name), name);
    EXPECT_EQ(missed(false, name), "");
  }
  EXPECT_EQ(missed(false, "lease_granted"), "lease_granted");
  EXPECT_EQ(missed(true, "allocation_refused"), "");
  EXPECT_FALSE(run_seed(10'000, false).has_jobs);
  EXPECT_TRUE(run_seed(10'001, false).has_jobs);
}

// So that what several ranges dealt can be added up.
TEST(Coverage, FaultsAreToldByKind) {
  Coverage one;
  one.dealt(Fault::kClientKilled);
  one.dealt(Fault::kMoveCut);
  CoverageOfSeeds seeds;
  seeds.add(one, false);
  seeds.add(one, false);
  const std::string reported = seeds.faults_told();
  EXPECT_TRUE(reported.starts_with("client hangs up 0, client killed 2, ")) << reported;
  EXPECT_TRUE(reported.ends_with(", move cut 2")) << reported;
  EXPECT_EQ(std::ranges::count(reported, ','), static_cast<std::ptrdiff_t>(kFaultCount) - 1);
}

}  // namespace
}  // namespace berth::sim
