// SPDX-License-Identifier: Apache-2.0
#include "cli/render/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/render/sample_test.h"

namespace berth::cli {
namespace {

using history::Bucket;
using history::Figure;
using history::Series;
using testing::HasSubstr;

constexpr std::int64_t kStart = 1'770'465'600;  // 2026-02-07T12:00:00Z
constexpr Charset kBlockLetters = {.unicode = true};

Bucket bucket(std::int64_t minute, Bytes value) {
  return {.start = kStart + minute * 60,
          .known = 60,
          .least = value,
          .most = value,
          .total = value.value * 60};
}

wire::PastAnswer answer() {
  Series used{.subject = {.device = sample::kDevice},
              .buckets = {bucket(0, {}), bucket(1, gib(4)), bucket(3, gib(8))}};
  Series granted{.subject = {.device = sample::kDevice, .figure = Figure::kGranted},
                 .buckets = {bucket(0, gib(8))}};
  Series lease{.subject = {.device = sample::kDevice, .lease = {12}},
               .name = "train\033[31m",
               .user = sample::kMe,
               .buckets = {bucket(3, gib(2))}};
  return {.past = {.step = minutes(1), .series = {used, granted, lease}},
          .facts = {.since = {kStart * 1'000},
                    .until = {(kStart + 239) * 1'000},
                    .indices = {{sample::kDevice, 0}}}};
}

TEST(Sparkline, IsAsHighAsTheFiguresAre) {
  EXPECT_EQ(sparkline(std::vector<std::optional<Bytes>>{Bytes{}, Bytes{1}, Bytes{50}, std::nullopt,
                                                        Bytes{100}},
                      {100}, kBlockLetters),
            "▁▂▅ █");
  EXPECT_EQ(sparkline(std::vector<std::optional<Bytes>>{Bytes{}, Bytes{1}, Bytes{100}}, {100}, {}),
            "_.#");
}

TEST(Sparkline, NothingIsAsLowAsItCanBe) {
  EXPECT_EQ(sparkline(std::vector<std::optional<Bytes>>{Bytes{}, Bytes{}}, {}, kBlockLetters),
            "▁▁");
  EXPECT_EQ(sparkline({}, {100}, kBlockLetters), "");
}

TEST(HistoryText, HasALineAFigureWithItsCourse) {
  RenderContext wide = sample::context();
  wide.width = std::nullopt;
  const std::string text = history_text(answer(), true, wide);
  EXPECT_THAT(text, HasSubstr("0    GPU"));
  EXPECT_THAT(text, HasSubstr("▁▅ █"));
  EXPECT_THAT(text, HasSubstr("0.0   4.0  8.0  8.0"));
  EXPECT_THAT(text, HasSubstr("lease 12 train?[31m"));
  EXPECT_THAT(text, HasSubstr("from 2026-02-07T12:00:00.000Z"));
  EXPECT_THAT(text, HasSubstr("a column is 1m"));
}

TEST(HistoryText, TheCourseFitsTheTerminal) {
  wire::PastAnswer long_one = answer();
  long_one.facts.until.value += 36'000'000;
  for (std::size_t width = 76; width < 160; width += 7) {
    RenderContext narrow = sample::context();
    narrow.width = width;
    const std::string text = history_text(long_one, true, narrow);
    EXPECT_THAT(text, HasSubstr("TREND")) << width;
    EXPECT_THAT(text, HasSubstr("  NOW\n")) << width;
    std::istringstream lines(text.substr(0, text.find("GiB; from")));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), width) << line;
  }
}

TEST(HistoryText, WhereNothingIsKnownItSaysSo) {
  EXPECT_EQ(history_text({}, true, sample::context()),
            "No data for this period.\n"
            "Leases too short for a sample are in: berth history --sessions\n");
  EXPECT_EQ(sessions_text({}, true, sample::context()), "No lease held anything in that time.\n");
}

TEST(SessionsText, TellsGpuHoursWaitingAndWhatWasNotUsed) {
  history::Session session{.id = {12},
                           .user = sample::kMe,
                           .name = "train",
                           .devices = 2,
                           .granted = gib(8),
                           .queued = sample::ago(minutes(100)),
                           .started = sample::ago(minutes(90)),
                           .ended = sample::kNow,
                           .result = EndResult::kOk,
                           .peak = gib(3),
                           .known_ms = 1,
                           .unused_mib_ms = std::uint64_t{5} * 1'024 * 3'600'000 / 2};
  history::Session unknown = session;
  unknown.id = {13};
  unknown.peak.reset();
  unknown.result.reset();
  unknown.known_ms = 0;
  unknown.unused_mib_ms = 0;
  wire::SessionsAnswer answer{.sessions = {session, unknown}, .facts = {.time = sample::kNow}};
  RenderContext wide = sample::context();
  wide.width = std::nullopt;
  const std::string text = sessions_text(answer, true, wide);
  EXPECT_THAT(text,
              testing::ContainsRegex("12  me/train  ok +10m  1h30m +3\\.00 +8\\.0 +3\\.0 +2\\.50"));
  EXPECT_THAT(text, testing::ContainsRegex("13  me/train  held .* 8\\.0 +– +–"));
  EXPECT_THAT(text, HasSubstr("2 leases: 6.00 GPU hours, 2.50 GiB hours granted and not used"));
}

TEST(MonitorLines, AreTimeAndMebibytes) {
  EXPECT_EQ(monitor_lines(answer().past, true),
            "timestamp,memory.used\n"
            "2026-02-07T12:00:00.000Z,0\n"
            "2026-02-07T12:01:00.000Z,4096\n"
            "2026-02-07T12:03:00.000Z,8192\n");
  EXPECT_EQ(monitor_lines({}, false), "");
}

TEST(MonitorLines, TellOfOneGpuOnly) {
  history::Past past = answer().past;
  Series other = past.series.front();
  other.subject.device.low += 1;
  past.series.push_back(other);
  EXPECT_EQ(monitor_lines(past, true), std::nullopt);
}

}  // namespace
}  // namespace berth::cli
