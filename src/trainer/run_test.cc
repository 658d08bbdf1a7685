// SPDX-License-Identifier: Apache-2.0
#include "trainer/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace berth::trainer {
namespace {

using testing::HasSubstr;

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
                             .folder = folder_ + "/out",
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
  std::string folder_;
};

TEST_F(RunTest, ARunLeavesALineForEachStepAndPlots) {
  std::uint64_t told = 0;
  const auto summary = run_training(settings(), {.progress = [&](const Progress& progress) {
                                      ++told;
                                      EXPECT_EQ(progress.steps, 25U);
                                    }});
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(told, 25U);
  EXPECT_EQ(summary->steps, 25U);
  EXPECT_EQ(summary->totals.real_steps + summary->totals.predicted_steps, 25U);
  EXPECT_GT(summary->totals.predicted_steps, 0U);
  EXPECT_LT(summary->validation_loss, 5.545);
  const std::vector<std::string> lines = metrics();
  ASSERT_EQ(lines.size(), 1U + 25U + 3U + 1U);  // Validated after 10, 20 and all steps.
  EXPECT_THAT(lines.front(), HasSubstr(R"("predict.mode":"forced")"));
  EXPECT_THAT(lines[1], HasSubstr(R"({"step":0,"phase":"warmup","predicted":false,"loss":5.)"));
  EXPECT_THAT(lines[11], HasSubstr(R"("validation_loss":)"));
  EXPECT_THAT(lines.back(), HasSubstr(R"({"summary":{"steps":25,)"));
  for (const auto* name : {"loss_by_step.svg", "loss_by_time.svg", "memory_by_step.svg"}) {
    EXPECT_GT(std::filesystem::file_size(folder_ + "/out/" + name), 500U) << name;
  }
}

TEST_F(RunTest, IsRepeatedToTheLastBit) {
  const auto first = run_training(settings(), {});
  const auto second = run_training(settings(), {});
  EXPECT_EQ(first->validation_loss, second->validation_loss);
  EXPECT_EQ(first->loss, second->loss);
  train::Settings other = settings();
  other.seed = 2;
  EXPECT_NE(run_training(other, {})->validation_loss, first->validation_loss);
}

TEST_F(RunTest, StopsBetweenStepsWhenItIsTold) {
  std::atomic<bool> stop = false;
  const auto summary = run_training(settings(), {.stop = &stop, .progress = [&](const Progress& p) {
                                                   stop = p.report.step == 6;
                                                 }});
  EXPECT_EQ(summary->steps, 7U);
  EXPECT_TRUE(summary->stopped);
}

TEST_F(RunTest, WithoutAFolderNothingIsWritten) {
  train::Settings quiet = settings();
  quiet.folder.clear();
  EXPECT_TRUE(run_training(quiet, {}).ok());
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/out"));
}

TEST_F(RunTest, WhatCannotBeReadOrWrittenIsAnError) {
  train::Settings wrong = settings();
  wrong.text = folder_ + "/nothing";
  EXPECT_EQ(run_training(wrong, {}).error().code, Errc::kNotFound);
  wrong = settings();
  wrong.folder = folder_ + "/text/out";
  EXPECT_EQ(run_training(wrong, {}).error().code, Errc::kCannotCreate);
  wrong = settings();
  wrong.columns = 65;
  EXPECT_EQ(run_training(wrong, {}).error().code, Errc::kInvalid);
}

}  // namespace
}  // namespace berth::trainer
