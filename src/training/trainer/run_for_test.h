// SPDX-License-Identifier: Apache-2.0
// Whole runs of a small model in a folder of a test's own, and one who asks things of them.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/run.h"

namespace berth::trainer {

class RunTest : public testing::Test {
 protected:
  RunTest() : folder_(testing::TempDir() + "runXXXXXX") {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    std::ofstream text(folder_ + "/text");
    for (int i = 0; i < 3000; ++i) text << "the quick brown fox " << i % 7 << '\n';
  }
  ~RunTest() override { std::filesystem::remove_all(folder_); }

  train::Settings settings() const {
    train::Settings settings{.text = folder_ + "/text",
                             .folder = fresh_folder(),
                             .rows = 2,
                             .columns = 16,
                             .validate_every = 10,
                             .validate_rows = 4};
    settings.hybrid.schedule = {
        .shape = train::Schedule::kConstant, .warmup_steps = 2, .steps = 25};
    settings.hybrid.phases = {.warmup_steps = 4, .full_steps = 4, .predict_steps_max = 4};
    settings.hybrid.mode = Mode::kForced;
    return settings;
  }
  std::vector<std::string> metrics() const {
    std::ifstream file(folder_ + "/out/metrics.ndjson");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  /// Stopped after that step, and gone on with to the end.
  static Result<Summary> stopped_and_resumed(const train::Settings& settings, std::uint64_t last) {
    std::atomic<bool> stop = false;
    (void)run_training(settings, {.stop = &stop, .progress = [&](const Progress& progress) {
                                    stop = progress.report.step == last;
                                  }});
    EXPECT_TRUE(stop);
    return run_training(settings, {.resume = true});
  }
  /// What has saved itself is not written over.
  std::string fresh_folder() const {
    const unsigned number = folders_++;
    return folder_ + "/out" + (number == 0 ? std::string() : std::to_string(number));
  }
  std::string folder_;
  mutable unsigned folders_ = 0;
};

/// Asks what it is told to when so many steps are done, and keeps what it hears.
class Listener final : public Coordination {
 public:
  std::optional<Ask> next_ask() override {
    if (asks.empty() || told.empty() || told.back().done < asks.front().first) return std::nullopt;
    const Ask ask = asks.front().second;
    asks.erase(asks.begin());
    return ask;
  }
  void answer(const Ask& ask, const Result<std::string>& saved) override {
    answers.emplace_back(ask.number, saved.ok() ? *saved : saved.error().message);
  }
  void broadcast(const HowFar& how_far) override { told.push_back(how_far); }

  std::vector<std::pair<std::uint64_t, Ask>> asks;
  std::vector<std::pair<std::uint64_t, std::string>> answers;
  std::vector<HowFar> told;
};

}  // namespace berth::trainer
