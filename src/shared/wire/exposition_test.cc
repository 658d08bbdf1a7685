// SPDX-License-Identifier: Apache-2.0
#include "wire/exposition.h"

#include <gtest/gtest.h>

#include <array>

namespace berth::wire {
namespace {

constexpr auto kOpen = ExpositionForm::kOpenMetrics;
constexpr auto kText = ExpositionForm::kText;

TEST(Exposition, AFamilyStandsBeforeItsSamples) {
  Exposition metrics(kText);
  metrics.family("berth_gpu_memory_used_bytes", MetricType::kGauge, "Used by everyone.")
      .sample(1'073'741'824, {{"gpu", "0"}, {"uuid", "GPU-1"}})
      .sample(0.5, {{"gpu", "1"}, {"uuid", "GPU-2"}});
  EXPECT_EQ(std::move(metrics).take(),
            "# HELP berth_gpu_memory_used_bytes Used by everyone.\n"
            "# TYPE berth_gpu_memory_used_bytes gauge\n"
            "berth_gpu_memory_used_bytes{gpu=\"0\",uuid=\"GPU-1\"} 1073741824\n"
            "berth_gpu_memory_used_bytes{gpu=\"1\",uuid=\"GPU-2\"} 0.5\n");
}

TEST(Exposition, OpenMetricsNamesTheFamilyOfACounterItsUnitAndTheEnd) {
  Exposition open(kOpen);
  open.family("process_cpu_seconds", MetricType::kCounter, "Of the daemon.").sample(2.25);
  EXPECT_EQ(std::move(open).take(),
            "# HELP process_cpu_seconds Of the daemon.\n"
            "# TYPE process_cpu_seconds counter\n"
            "# UNIT process_cpu_seconds seconds\n"
            "process_cpu_seconds_total 2.25\n"
            "# EOF\n");
  Exposition text(kText);
  text.family("process_cpu_seconds", MetricType::kCounter, "Of the daemon.").sample(2.25);
  EXPECT_EQ(std::move(text).take(),
            "# HELP process_cpu_seconds_total Of the daemon.\n"
            "# TYPE process_cpu_seconds_total counter\n"
            "process_cpu_seconds_total 2.25\n");
}

TEST(Exposition, AHistogramCountsUpToEachBound) {
  constexpr std::array kBounds = {0.5, 1.0, 60.0};
  constexpr std::array<std::uint64_t, 4> kCounts = {2, 0, 3, 1};
  Exposition metrics(kText);
  metrics.family("wait_seconds", MetricType::kHistogram, "Until granted.")
      .sample(Histogram{.bounds = kBounds, .counts = kCounts, .sum = 301.5});
  EXPECT_EQ(std::move(metrics).take(),
            "# HELP wait_seconds Until granted.\n"
            "# TYPE wait_seconds histogram\n"
            "wait_seconds_bucket{le=\"0.5\"} 2\n"
            "wait_seconds_bucket{le=\"1.0\"} 2\n"
            "wait_seconds_bucket{le=\"60.0\"} 5\n"
            "wait_seconds_bucket{le=\"+Inf\"} 6\n"
            "wait_seconds_sum 301.5\n"
            "wait_seconds_count 6\n");
}

TEST(Exposition, WhatUsersChoseCannotLookLikeAnotherLine) {
  Exposition metrics(kText);
  metrics.family("x", MetricType::kGauge, "a\\b\nc \"d\"")
      .sample(1, {{"name", "a\"} 1\ny{b=\"\\"}});
  EXPECT_EQ(std::move(metrics).take(),
            "# HELP x a\\\\b\\nc \"d\"\n"
            "# TYPE x gauge\n"
            "x{name=\"a\\\"} 1\\ny{b=\\\"\\\\\"} 1\n");
}

TEST(Exposition, WhoAsksForOpenMetricsGetsIt) {
  EXPECT_EQ(form_accepted(""), kText);
  EXPECT_EQ(form_accepted("*/*"), kText);
  EXPECT_EQ(form_accepted("text/plain;version=0.0.4;q=0.5,*/*;q=0.1"), kText);
  EXPECT_EQ(form_accepted("application/openmetrics-text;version=1.0.0;q=0.8,text/plain;q=0.5"),
            kOpen);
  EXPECT_EQ(form_accepted("text/plain;q=0.5,application/openmetrics-text"), kOpen);
  EXPECT_EQ(form_accepted("application/openmetrics-text;q=0,text/plain"), kText);
  EXPECT_EQ(form_accepted("application/openmetrics-text;q=0.0, text/plain;q=0.9"), kText);
  EXPECT_EQ(form_accepted("application/openmetrics-text;q=0.05"), kOpen);
}

}  // namespace
}  // namespace berth::wire
