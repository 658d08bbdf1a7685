// SPDX-License-Identifier: Apache-2.0
// Several processes that train one model, played by threads of one: they share nothing but sockets.
#include "trainer/peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <vector>

#include "trainer/module_for_test.h"
#include "trainer/peers_for_test.h"

namespace berth::trainer {
namespace {

using testing::HasSubstr;

constexpr Duration kSoon = {1'000'000'000};

TEST(Peers, AloneNothingIsWaitedForAndAllStaysAsItIs) {
  Peers alone;
  std::array<double, 2> numbers = {0.1, 7};
  EXPECT_TRUE(alone.sum(numbers).ok());
  EXPECT_EQ(numbers, (std::array<double, 2>{0.1, 7}));
  const at::Tensor tensor = torch::arange(5, at::kFloat);
  alone.begin_sum(tensor);
  EXPECT_TRUE(alone.finish_checksums().ok());
  EXPECT_TRUE(alone.broadcast(tensor).ok());
  EXPECT_TRUE(at::equal(tensor, torch::arange(5, at::kFloat)));
  EXPECT_TRUE(alone.is_first());
  EXPECT_TRUE(alone.all_well(Status(Unit{})).ok());
  EXPECT_EQ(alone.all_well(Status(Error{Errc::kIo, "mine"})).error().message, "mine");
}

TEST(Peers, SumsHaveTheSameBitsAtEachOfThem) {
  constexpr std::uint32_t kSize = 3;
  std::array<std::array<double, 4>, kSize> numbers{};
  together(kSize, [&](Peers& peers) {
    auto& own = numbers[peers.rank()];
    for (std::size_t i = 0; i < own.size(); ++i) {
      own[i] = std::sin(static_cast<double>(10 * peers.rank() + i + 1));
    }
    EXPECT_TRUE(peers.sum(own).ok());
  });
  EXPECT_NEAR(numbers[0][0], std::sin(1) + std::sin(11) + std::sin(21), 1e-12);
  EXPECT_EQ(numbers[1], numbers[0]);
  EXPECT_EQ(numbers[2], numbers[0]);
}

TEST(Peers, SumsOfTensorsAreOnTheirWaySideBySide) {
  std::array<std::array<at::Tensor, 2>, 2> tensors;
  together(2, [&](Peers& peers) {
    auto& own = tensors[peers.rank()];
    for (at::Tensor& tensor : own) {
      tensor = torch::arange(1000, at::kFloat) * (peers.rank() == 0 ? 1 : 3);
      peers.begin_sum(tensor);
    }
    EXPECT_TRUE(peers.finish_checksums().ok());
  });
  for (const auto& own : tensors) {
    for (const at::Tensor& tensor : own) {
      EXPECT_TRUE(at::equal(tensor, torch::arange(1000, at::kFloat) * 4));
    }
  }
}

TEST(Peers, AllGetWhatTheFirstHas) {
  together(3, [](Peers& peers) {
    const at::Tensor own = torch::full({2, 2}, static_cast<double>(peers.rank() + 5));
    EXPECT_TRUE(peers.broadcast(own).ok());
    EXPECT_TRUE(at::equal(own, torch::full({2, 2}, 5.0)));
  });
}

TEST(Peers, WhatIsSoForOneIsKnownToAll) {
  together(3, [](Peers& peers) {
    const Result<bool> none = peers.any(false);
    EXPECT_TRUE(none.ok() && !*none);
    const Result<bool> one = peers.any(peers.rank() == 2);
    EXPECT_TRUE(one.ok() && *one);
  });
}

TEST(Peers, TheFailureOfOneIsThatOfAllAndTheOneSaysWhy) {
  together(2, [](Peers& peers) {
    const Status failed =
        peers.all_well(peers.rank() == 1 ? Status(Error{Errc::kIo, "no such text"}) : Unit{});
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().message,
              peers.rank() == 1 ? "no such text"
                                : "rank 0 of 2: another process has failed, and says why");
  });
}

TEST(Peers, ALostPeerIsNoticedAtOnceAndForGood) {
  together(3, [](Peers& peers) {
    if (peers.rank() == 1) return;  // Its connections close.
    std::array<double, 1> number = {1};
    for (int i = 0; i < 2; ++i) {
      const Status sum = peers.sum(number);
      ASSERT_FALSE(sum.ok());
      EXPECT_EQ(sum.error().code, Errc::kUnavailable);
      EXPECT_THAT(sum.error().message, HasSubstr(" of 3: another process is lost: "));
    }
  });
}

TEST(Peers, APeerThatDoesNotComeIsNotWaitedForForEver) {
  const std::uint16_t port = free_port();
  for (const std::uint32_t rank : {0U, 1U}) {
    const auto alone = Peers::meet(place_of(rank, 2, port), kSoon);
    ASSERT_FALSE(alone.ok());
    EXPECT_EQ(alone.error().code, Errc::kUnavailable);
    EXPECT_THAT(alone.error().message,
                HasSubstr("the 2 processes have not met at 127.0.0.1:" + std::to_string(port)));
  }
}

// Training with them.

Batch rows_of_rank(const Peers& peers, std::int64_t step) {
  const std::int64_t rows = 4 / peers.size();
  const std::int64_t columns = kTinyGpt2.context;
  const at::Tensor all =
      (torch::arange(4 * (columns + 1), at::kLong).view({4, columns + 1}) * 7 + step).remainder(31);
  const at::Tensor own = all.narrow(0, peers.rank() * rows, rows);
  return {.inputs = own.narrow(1, 0, columns).contiguous(),
          .targets = own.narrow(1, 1, columns).contiguous()};
}

Batch trial_rows() {
  return rows_of_rank(Peers(), 1000);
}

struct Trained {
  at::Tensor weights;
  std::vector<double> losses;
  std::vector<bool> predicted;
  Totals totals;
};

Trained train(Peers& peers, Gpt2& model, HybridConfig config, std::int64_t steps) {
  Trained trained;
  HybridTrainer trainer(
      model, [&](const Batch& batch) { return model.loss(batch); }, config, trial_rows());
  EXPECT_TRUE(trainer.train_with(peers).ok());
  for (std::int64_t step = 0; step < steps; ++step) {
    const Batch batch = trainer.wants_batch() ? rows_of_rank(peers, step) : Batch{};
    const Result<StepReport> report = trainer.step(batch);
    EXPECT_TRUE(report.ok()) << report.error().message;
    if (!report.ok()) break;
    trained.losses.push_back(report->loss);
    trained.predicted.push_back(report->predicted);
  }
  trained.weights = trainer.parameters().values().clone();
  trained.totals = trainer.totals();
  return trained;
}

/// Made before there are threads: libtorch has one source of chance for all.
std::deque<Gpt2> models(std::size_t count) {
  std::deque<Gpt2> made;
  for (std::size_t i = 0; i < count; ++i) made.emplace_back(kTinyGpt2).initialize(1 + i);
  return made;
}

TEST(Peers, TwoWithHalfABatchEachDoWhatOneDoesWithTheWhole) {
  std::deque<Gpt2> made = models(3);
  made[2].initialize(1);  // As the first of the two: the other one gets its weights.
  const HybridConfig config = short_phases(Mode::kOff, PredictorKind::kNull);
  std::array<Trained, 2> pair;
  together(
      2, [&](Peers& peers) { pair[peers.rank()] = train(peers, made[peers.rank()], config, 12); });
  Peers nobody;
  const Trained alone = train(nobody, made[2], config, 12);
  EXPECT_TRUE(at::equal(pair[0].weights, pair[1].weights));
  EXPECT_EQ(pair[0].losses, pair[1].losses);
  ASSERT_EQ(pair[0].losses.size(), 12U);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(pair[0].losses[i], alone.losses[i], 1e-4) << i;
  EXPECT_TRUE(at::allclose(pair[0].weights, alone.weights, 1e-2, 1e-3));
}

TEST(Peers, TheGradientIsThatOfTheWholeBatch) {
  std::deque<Gpt2> made = models(3);
  made[2].initialize(1);
  HybridConfig config = short_phases(Mode::kOff, PredictorKind::kNull);
  const auto gradient = [&](Peers& peers, Gpt2& model) {
    HybridTrainer trainer(
        model, [&](const Batch& batch) { return model.loss(batch); }, config, trial_rows());
    EXPECT_TRUE(trainer.train_with(peers).ok());
    EXPECT_TRUE(trainer.wants_batch());
    EXPECT_TRUE(trainer.step(rows_of_rank(peers, 0)).ok());
    return trainer.parameters().gradients().clone();
  };
  std::array<at::Tensor, 2> halves;
  together(2, [&](Peers& peers) { halves[peers.rank()] = gradient(peers, made[peers.rank()]); });
  Peers nobody;
  const at::Tensor whole = gradient(nobody, made[2]);
  EXPECT_TRUE(at::equal(halves[0], halves[1]));
  EXPECT_TRUE(at::allclose(halves[0], whole, 1e-4, 1e-7));
  EXPECT_GT(whole.norm().item<double>(), 0.01);
}

TEST(Peers, AllPredictInTheSameStepsAndJumpAlike) {
  std::deque<Gpt2> made = models(2);
  const HybridConfig config = short_phases(Mode::kForced, PredictorKind::kLinear);
  std::array<Trained, 2> pair;
  together(
      2, [&](Peers& peers) { pair[peers.rank()] = train(peers, made[peers.rank()], config, 60); });
  EXPECT_GT(pair[0].totals.predicted_steps, 5U);
  EXPECT_GT(pair[0].totals.accepted, 0U);
  EXPECT_EQ(pair[0].predicted, pair[1].predicted);
  EXPECT_EQ(pair[0].losses, pair[1].losses);
  EXPECT_TRUE(at::equal(pair[0].weights, pair[1].weights));
}

/// The first step of each of two, where something happens to rank 1 with more than so many rows.
std::array<Result<StepReport>, 2> first_step(const std::function<void(std::int64_t rows)>& event) {
  std::deque<Gpt2> made = models(2);
  std::array<Result<StepReport>, 2> reports = {Error{Errc::kInvalid, ""},
                                               Error{Errc::kInvalid, ""}};
  together(2, [&](Peers& peers) {
    Gpt2& model = made[peers.rank()];
    const auto loss = [&](const Batch& batch) {
      if (peers.rank() == 1) event(batch.rows());
      return model.loss(batch);
    };
    HybridTrainer trainer(model, loss, short_phases(Mode::kOff, PredictorKind::kNull),
                          trial_rows());
    EXPECT_TRUE(trainer.train_with(peers).ok());
    EXPECT_TRUE(trainer.wants_batch());
    reports[peers.rank()] = trainer.step(rows_of_rank(peers, 0));
  });
  return reports;
}

TEST(Peers, WhenOneRunsOutOfMemoryAllTakeSmallerPieces) {
  const auto reports = first_step([](std::int64_t rows) {
    TORCH_CHECK_WITH(OutOfMemoryError, rows < 2, "no memory for two rows");
  });
  for (const auto& report : reports) {
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->pieces, 2U);
  }
  EXPECT_EQ(reports[0]->loss, reports[1]->loss);
  EXPECT_EQ(reports[0]->gradient_norm, reports[1]->gradient_norm);
}

TEST(Peers, WhenNotEvenOneRowFitsForOneAllEndAlike) {
  const auto reports = first_step(
      [](std::int64_t) { TORCH_CHECK_WITH(OutOfMemoryError, false, "no memory at all"); });
  for (const auto& report : reports) {
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().code, Errc::kExhausted);
  }
}

TEST(Peers, WhenOneFailsForAnotherReasonTheOthersDoNotWaitForIt) {
  const auto reports = first_step([](std::int64_t) { TORCH_CHECK(false, "what nobody expects"); });
  ASSERT_FALSE(reports[0].ok());
  EXPECT_EQ(reports[0].error().code, Errc::kUnavailable);
  EXPECT_EQ(reports[0].error().message, "another process has failed, and says why");
  ASSERT_FALSE(reports[1].ok());
  EXPECT_THAT(reports[1].error().message, HasSubstr("what nobody expects"));
}

TEST(Peers, ALossThatIsNoNumberForOneIsSkippedByAll) {
  std::deque<Gpt2> made = models(2);
  together(2, [&](Peers& peers) {
    Gpt2& model = made[peers.rank()];
    const auto loss = [&](const Batch& batch) {
      const double factor = peers.rank() == 1 ? std::nan("") : 1;
      return model.loss(batch) * factor;
    };
    HybridTrainer trainer(model, loss, short_phases(Mode::kOff, PredictorKind::kNull),
                          trial_rows());
    EXPECT_TRUE(trainer.train_with(peers).ok());
    EXPECT_TRUE(trainer.wants_batch());
    const at::Tensor before = trainer.parameters().values().clone();
    const auto report = trainer.step(rows_of_rank(peers, 0));
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_TRUE(std::isnan(report->loss));
    EXPECT_FALSE(report->gradient_norm);
    EXPECT_TRUE(at::equal(trainer.parameters().values(), before));
  });
}

}  // namespace
}  // namespace berth::trainer
