// SPDX-License-Identifier: Apache-2.0
#include "trainer/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "train/dynamics.h"
#include "trainer/libtorch.h"
#include "trainer/run_for_test.h"

namespace berth::trainer {
namespace {

using testing::HasSubstr;

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

TEST_F(RunTest, ARunWithMuonIsAnotherAndGoesOnToTheLastBit) {
  train::Settings muon = settings();
  muon.hybrid.mode = Mode::kOff;
  const auto adamw = run_training(muon, {});
  muon.hybrid.optimizer.kind = train::OptimizerKind::kMuon;
  muon.folder = folder_ + "/whole";
  const auto whole = run_training(muon, {});
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_NE(whole->validation_loss, adamw->validation_loss);
  EXPECT_LT(whole->validation_loss, 5.545);
  muon.folder = folder_ + "/apart";
  const auto rest = stopped_and_resumed(muon, 11);
  ASSERT_TRUE(rest.ok()) << rest.error().message;
  EXPECT_EQ(rest->validation_loss, whole->validation_loss);
  muon.hybrid.optimizer.kind = train::OptimizerKind::kAdamW;
  EXPECT_THAT(run_training(muon, {.resume = true}).error().message,
              HasSubstr("was saved with another optimizer.kind, 'muon'; now it is 'adamw'"));
}

TEST_F(RunTest, TheMeanOfTheWeightsIsValidatedBesideThemAndGoesOnToTheLastBit) {
  train::Settings settings = this->settings();
  EXPECT_FALSE(run_training(settings, {})->average_loss);
  settings.hybrid.average_decay = 0.9;
  settings.folder = folder_ + "/whole";
  const auto whole = run_training(settings, {});
  ASSERT_TRUE(whole.ok() && whole->average_loss) << whole.error().message;
  EXPECT_NE(*whole->average_loss, whole->validation_loss);
  EXPECT_LT(*whole->average_loss, 5.545);
  settings.folder = folder_ + "/apart";
  const auto rest = stopped_and_resumed(settings, 14);
  ASSERT_TRUE(rest.ok()) << rest.error().message;
  EXPECT_EQ(rest->average_loss, whole->average_loss);
}

TEST_F(RunTest, ARunWhoseJumpsAnEnsembleChoosesGoesOnToTheLastBit) {
  train::Settings settings = this->settings();
  settings.hybrid.scheduler = train::Scheduler::kDynamics;
  settings.hybrid.schedule.steps = 80;
  settings.folder = folder_ + "/whole";
  const auto whole = run_training(settings, {});
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_GE(whole->totals.trials, train::Dynamics::kOutcomesMin);
  settings.folder = folder_ + "/apart";
  const auto rest = stopped_and_resumed(settings, 70);
  ASSERT_TRUE(rest.ok()) << rest.error().message;
  EXPECT_EQ(rest->validation_loss, whole->validation_loss);
  settings.hybrid.scheduler = train::Scheduler::kBenefit;
  EXPECT_THAT(
      run_training(settings, {.resume = true}).error().message,
      HasSubstr("was saved with another predict.scheduler, 'dynamics'; now it is 'benefit'"));
}

TEST_F(RunTest, ARunInMixedPrecisionLearns) {
  train::Settings settings = this->settings();
  const auto exact = run_training(settings, {});
  settings.precision = train::Precision::kBf16;
  settings.folder = fresh_folder();
  const auto mixed = run_training(settings, {});
  ASSERT_TRUE(mixed.ok()) << mixed.error().message;
  EXPECT_NE(mixed->validation_loss, exact->validation_loss);
  EXPECT_NEAR(mixed->validation_loss, exact->validation_loss, 0.1);
}

TEST_F(RunTest, ItTellsHowFarItIs) {
  Listener listener;
  ASSERT_TRUE(run_training(settings(), {.coordination = &listener}).ok());
  ASSERT_EQ(listener.told.size(), 25U);
  EXPECT_EQ(listener.told[9].done, 10U);
  EXPECT_EQ(listener.told[9].total, 25U);
  EXPECT_GT(listener.told[9].left, Duration{});
  EXPECT_THAT(listener.told[9].note, HasSubstr("loss "));
  EXPECT_GT(listener.told[9].loss, 0);
  EXPECT_FALSE(listener.told[9].phase.empty());
  EXPECT_EQ(listener.told.back().left, Duration{});
}

TEST_F(RunTest, ItSavesWhenItIsAskedAndGoesOn) {
  Listener listener;
  listener.asks = {{3, {.kind = Ask::Kind::kSave, .number = 7}},
                   {5, {.kind = Ask::Kind::kSave, .number = 8}}};
  const auto summary = run_training(settings(), {.coordination = &listener});
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->steps, 25U);
  ASSERT_EQ(listener.answers.size(), 2U);
  EXPECT_EQ(listener.answers[0].first, 7U);
  EXPECT_THAT(listener.answers[0].second, HasSubstr("step-3"));
  EXPECT_THAT(listener.answers[1].second, HasSubstr("step-5"));
  EXPECT_TRUE(std::filesystem::exists(listener.answers[1].second));
}

TEST_F(RunTest, ItSavesAndEndsWhenItsLeaseIsWantedBackAndGoesOnToTheLastBit) {
  const auto whole = run_training(settings(), {});
  train::Settings apart = settings();
  apart.folder = folder_ + "/apart";
  Listener listener;
  listener.asks = {{11, {.kind = Ask::Kind::kSaveAndEnd, .number = 0}}};
  const auto part = run_training(apart, {.coordination = &listener});
  ASSERT_TRUE(part.ok()) << part.error().message;
  EXPECT_TRUE(part->stopped);
  EXPECT_EQ(part->steps, 11U);
  EXPECT_EQ(run_training(apart, {.resume = true})->validation_loss, whole->validation_loss);
}

TEST_F(RunTest, WithoutAGpuThereIsNoRunOnOne) {
  train::Settings settings = this->settings();
  settings.hybrid.device = train::Device::kCuda;
  if (torch::cuda::is_available()) GTEST_SKIP() << "there is a GPU here";
  const auto none = run_training(settings, {});
  EXPECT_EQ(none.error().code, Errc::kUnavailable);
  EXPECT_THAT(none.error().message, HasSubstr("run.device: libtorch finds no GPU"));
}

TEST_F(RunTest, WithoutAFolderTheAnswerSaysWhyNothingIsSaved) {
  train::Settings nowhere = settings();
  nowhere.folder.clear();
  Listener listener;
  listener.asks = {{3, {.kind = Ask::Kind::kSave, .number = 7}}};
  ASSERT_TRUE(run_training(nowhere, {.coordination = &listener}).ok());
  EXPECT_THAT(listener.answers.at(0).second, HasSubstr("run.folder is not set"));
}

TEST_F(RunTest, StopsBetweenStepsWhenItIsTold) {
  std::atomic<bool> stop = false;
  const auto summary = run_training(settings(), {.stop = &stop, .progress = [&](const Progress& p) {
                                                   stop = p.report.step == 6;
                                                 }});
  EXPECT_EQ(summary->steps, 7U);
  EXPECT_TRUE(summary->stopped);
}

TEST_F(RunTest, ARunThatWasStoppedGoesOnToTheLastBit) {
  const auto whole = run_training(settings(), {});
  train::Settings apart = settings();
  apart.folder = folder_ + "/apart";
  for (const std::uint64_t last : {6U, 9U, 17U}) {
    std::atomic<bool> stop = false;
    const auto part =
        run_training(apart, {.resume = last > 6, .stop = &stop, .progress = [&](const Progress& p) {
                               stop = p.report.step == last;
                             }});
    ASSERT_TRUE(part.ok()) << part.error().message;
    EXPECT_EQ(part->steps, last + 1);
    EXPECT_TRUE(std::filesystem::exists(part->checkpoint));
  }
  const auto rest = run_training(apart, {.resume = true});
  ASSERT_TRUE(rest.ok()) << rest.error().message;
  EXPECT_EQ(rest->steps, 25U);
  EXPECT_EQ(rest->validation_loss, whole->validation_loss);
  EXPECT_EQ(rest->totals.real_steps, whole->totals.real_steps);
  EXPECT_EQ(rest->totals.trials, whole->totals.trials);
}

TEST_F(RunTest, ARunThatWasKilledGoesOnFromItsLastCheckpoint) {
  const auto whole = run_training(settings(), {});
  train::Settings apart = settings();
  apart.folder = folder_ + "/apart";
  apart.checkpoint_every = 8;
  const auto ended = run_training(apart, {});
  ASSERT_TRUE(ended.ok());
  std::filesystem::remove(ended->checkpoint);  // It did not come so far: its last is of step 24.
  std::vector<std::string> said;
  const auto rest = run_training(
      apart, {.resume = true, .say = [&](const std::string& text) { said.push_back(text); }});
  ASSERT_TRUE(rest.ok()) << rest.error().message;
  EXPECT_EQ(rest->validation_loss, whole->validation_loss);
  ASSERT_EQ(said.size(), 1U);
  EXPECT_THAT(said[0], HasSubstr("step-24"));
}

TEST_F(RunTest, ASaveThatIsDueIsTheSameWhetherItIsWaitedForOrNot) {
  train::Settings waited = settings();
  waited.checkpoint_every = 5;
  waited.checkpoint_background = false;
  const auto slow = run_training(waited, {});
  ASSERT_TRUE(slow.ok()) << slow.error().message;
  train::Settings begun = waited;
  begun.checkpoint_background = true;
  begun.folder = folder_ + "/begun";
  const auto quick = run_training(begun, {});
  ASSERT_TRUE(quick.ok()) << quick.error().message;
  const auto read = [](const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    const std::string all = bytes.str();
    EXPECT_GT(all.size(), 10'000'000U);
    return all.substr(all.size() - 10'000'000);  // Tensors; settings before them differ.
  };
  EXPECT_THAT(quick->checkpoint, HasSubstr(folder_ + "/begun/checkpoints/"));
  EXPECT_THAT(quick->checkpoint, HasSubstr("step-25"));
  EXPECT_TRUE(std::filesystem::exists(quick->checkpoint));
  EXPECT_TRUE(read(slow->checkpoint) == read(quick->checkpoint));
}

TEST_F(RunTest, ASaveInTheBackgroundThatFailsEndsTheRunWithTheReason) {
  train::Settings settings = this->settings();
  settings.checkpoint_every = 2;
  const auto failed = run_training(settings, {.progress = [&](const Progress& progress) {
                                     if (progress.report.step != 8) return;
                                     std::filesystem::rename(settings.folder + "/checkpoints",
                                                             settings.folder + "/elsewhere");
                                   }});
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().message, HasSubstr("checkpoints"));
}

TEST_F(RunTest, SavesByTimeAsWell) {
  train::Settings often = settings();
  often.checkpoint_minutes = 1e-6;  // Every step takes longer.
  const auto summary = run_training(often, {});
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_THAT(summary->checkpoint, HasSubstr("step-25"));
  const auto saved_in = [](const std::string& folder) {
    const std::filesystem::directory_iterator files(folder + "/checkpoints");
    return std::ranges::count_if(files, [](const std::filesystem::directory_entry& file) {
      return file.path().extension() == ".safetensors";
    });
  };
  EXPECT_EQ(saved_in(often.folder), 3) << "as many as are kept";
  train::Settings seldom = settings();
  seldom.checkpoint_minutes = 1e6;
  ASSERT_TRUE(run_training(seldom, {}).ok());
  EXPECT_EQ(saved_in(seldom.folder), 1) << "that of its end";
}

TEST_F(RunTest, WhatDoesNotMatchIsAClearError) {
  train::Settings saved = settings();
  saved.checkpoint_every = 25;
  ASSERT_TRUE(run_training(saved, {}).ok());
  const auto said_of = [&](void (*change)(train::Settings&)) {
    train::Settings other = saved;
    change(other);
    const auto result = run_training(other, {.resume = true});
    return result.ok() ? std::string() : result.error().message;
  };
  EXPECT_THAT(said_of([](train::Settings& s) { s.hybrid.schedule.rate = 0.5; }),
              HasSubstr("another rate.rate, '0.008'; now it is '0.5'"));
  EXPECT_THAT(said_of([](train::Settings& s) { s.model = "micro"; }), HasSubstr("run.model"));
  EXPECT_EQ(said_of([](train::Settings& s) { s.validate_every = 0; }), "");
  std::ofstream(saved.text, std::ios::app) << "more";
  EXPECT_THAT(said_of([](train::Settings&) {}), HasSubstr("another text"));
}

TEST_F(RunTest, AnotherRunDoesNotWriteOverOneThatWasSaved) {
  train::Settings saved = settings();
  saved.checkpoint_every = 25;
  ASSERT_TRUE(run_training(saved, {}).ok());
  const auto again = run_training(saved, {});
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Errc::kConflict);
  EXPECT_THAT(again.error().message, HasSubstr("--resume"));
}

TEST_F(RunTest, ThereIsNothingToGoOnFromInAnEmptyFolder) {
  EXPECT_EQ(run_training(settings(), {.resume = true}).error().code, Errc::kNotFound);
  train::Settings nowhere = settings();
  nowhere.folder.clear();
  EXPECT_EQ(run_training(nowhere, {.resume = true}).error().code, Errc::kInvalid);
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
