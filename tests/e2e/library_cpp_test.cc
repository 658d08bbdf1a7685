// SPDX-License-Identifier: Apache-2.0
// The C++ interface of libberth, as programs get it: the library that is installed, by its headers
// alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <berth/berth.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMib = std::uint64_t{1} << 20U;

// A device of the tests' own: memory that runs out at one allocation, or above a size.
struct Memory {
  std::uint64_t allocations = 0;
  std::uint64_t fails_at = 0;  // That allocation does; 0: none.
  std::size_t fails_above = ~std::size_t{0};
  std::uint64_t live = 0;

  std::vector<float> take(std::size_t count) {
    if (++allocations == fails_at || count > fails_above) {
      std::rethrow_exception(std::make_exception_ptr(std::bad_alloc()));  // As allocators do.
    }
    return std::vector<float>(count);
  }
};

constexpr std::size_t kBatch = 64;
constexpr std::size_t kWeights = 8;
constexpr int kLayers = 7;  // Allocations for each sample's micro-batch, with the gradient's.

float input(std::size_t sample, std::size_t weight) {
  return static_cast<float>((sample * 31 + weight * 17) % 23) / 23.0F - 0.4F;
}

// The gradient of a linear model's mean squared error over the whole batch, in micro-batches.
std::vector<float> gradient(Memory& memory, std::uint64_t micro, std::uint64_t accumulation) {
  std::vector<float> sum = memory.take(kWeights);
  for (std::uint64_t part = 0; part < accumulation; ++part) {
    std::vector<std::vector<float>> activations;
    for (int layer = 0; layer < kLayers; ++layer) activations.push_back(memory.take(micro));
    for (std::size_t i = 0; i < micro; ++i) {
      const std::size_t sample = part * micro + i;
      float error = -1;
      for (std::size_t w = 0; w < kWeights; ++w) error += 0.3F * input(sample, w);
      activations[0][i] = error;
      for (std::size_t w = 0; w < kWeights; ++w) {
        sum[w] += 2 * activations[0][i] * input(sample, w) / kBatch;
      }
    }
  }
  return sum;
}

berth::Batch batch_of(std::uint64_t size) {
  berth_batch_options options{};
  options.batch = size;
  auto batch = berth::Batch::create(nullptr, options);
  EXPECT_TRUE(batch.ok()) << batch.error().text();
  return std::move(*batch);
}

TEST(LibraryCpp, OutOfMemoryAtAnyAllocationIsSurvivedWithTheSameGradient) {
  Memory enough;
  const std::vector<float> expected = gradient(enough, kBatch, 1);
  for (std::uint64_t fails_at = 1; fails_at <= 50; ++fails_at) {
    Memory memory{.fails_at = fails_at};
    berth::Batch batch = batch_of(kBatch);
    std::vector<float> found;
    int freed = 0;
    // Each step has some: so later ones are reached, too.
    for (int step = 0; step < 8; ++step) {
      const berth::Done done = batch.retry_on_oom(
          [&](std::uint64_t micro, std::uint64_t accumulation) {
            EXPECT_EQ(micro * accumulation, kBatch);
            found = gradient(memory, micro, accumulation);
          },
          [&] { ++freed; });
      ASSERT_TRUE(done.ok()) << done.text();
      for (std::size_t w = 0; w < kWeights; ++w) ASSERT_NEAR(found[w], expected[w], 1e-5);
    }
    EXPECT_EQ(freed, 1) << fails_at;
    EXPECT_EQ(batch.plan().micro, kBatch / 2);
  }
}

TEST(LibraryCpp, MicroBatchShrinksUntilItFits) {
  Memory memory{.fails_above = 10};
  berth::Batch batch = batch_of(kBatch);
  ASSERT_TRUE(batch
                  .retry_on_oom([&](std::uint64_t micro, std::uint64_t accumulation) {
                    (void)gradient(memory, micro, accumulation);
                  })
                  .ok());
  EXPECT_EQ(batch.plan().micro, 8U);
  EXPECT_EQ(batch.plan().accumulation, 8U);
}

TEST(LibraryCpp, WhereNothingFitsTheErrorSaysWhatToChange) {
  Memory memory{.fails_above = 0};
  berth::Batch batch = batch_of(4);
  const berth::Done done = batch.retry_on_oom([&](std::uint64_t micro, std::uint64_t accumulation) {
    (void)gradient(memory, micro, accumulation);
  });
  EXPECT_EQ(done.status(), BERTH_OUT_OF_MEMORY);
  EXPECT_THAT(done.text(), HasSubstr("gradient checkpointing"));
}

TEST(LibraryCpp, OtherExceptionsGoThrough) {
  berth::Batch batch = batch_of(4);
  EXPECT_THROW((void)batch.retry_on_oom([](std::uint64_t, std::uint64_t) {
    const std::vector<int> none;
    const int first = none.at(0);
    static_cast<void>(first);
  }),
               std::out_of_range);
  EXPECT_EQ(batch.plan().micro, 4U);
}

TEST(LibraryCpp, FindsABatchSizeByTrials) {
  berth_batch_search search{};
  search.batch_max = 1'000;
  const auto best =
      berth::find_batch_size(nullptr, search, [](std::uint64_t batch) { return batch <= 200; });
  ASSERT_TRUE(best.ok()) << best.error().text();
  EXPECT_LE(*best, 200U);
  EXPECT_GE(*best, 175U);
}

TEST(LibraryCpp, ManagerCallsFunctionObjectsAlsoAfterItWasMoved) {
  berth_vram_options options{};
  options.basis = BERTH_BASIS_ALLOCATOR;
  options.warn_bytes = 100 * kMib;
  options.cleanup_bytes = 200 * kMib;
  options.critical_bytes = 300 * kMib;
  options.sample_every_ns = 1;
  auto made = berth::VramManager::create(nullptr, options);
  ASSERT_TRUE(made.ok()) << made.error().text();
  std::uint64_t cached = 300 * kMib;
  int synchronized = 0;
  std::vector<std::string> events;
  ASSERT_TRUE(made->set_provider({.allocated = [] { return 50 * kMib; },
                                  .reserved = [&] { return 50 * kMib + cached; },
                                  .empty_cache = [&] { return cached = 0, true; },
                                  .synchronize = [&] { return ++synchronized > 0; }})
                  .ok());
  ASSERT_TRUE(
      made->set_callbacks({}, [&](const berth_event& event) { events.emplace_back(event.text); })
          .ok());
  berth::VramManager manager = std::move(*made);
  auto report = manager.step();
  ASSERT_TRUE(report.ok()) << report.error().text();
  // Without act() the program is asked to save itself, and answers.
  EXPECT_EQ(report->wanted, std::uint32_t{BERTH_CHECKPOINT});
  ASSERT_TRUE(manager.answer(BERTH_CHECKPOINT, BERTH_DONE).ok());
  report = manager.step();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->done, std::uint32_t{BERTH_CLEANUP});
  EXPECT_EQ(report->freed_bytes, 300 * kMib);
  EXPECT_EQ(synchronized, 1);
  ASSERT_TRUE(manager.count_copy(5).ok());
  ASSERT_TRUE(manager.phase("forward").ok());
  EXPECT_EQ(manager.status_line(), "VRAM: 50 MiB | Copies: 1 | Cleanups: 1");
  EXPECT_THAT(events, ::testing::Contains(HasSubstr("300 MiB freed")));
}

TEST(LibraryCpp, HandlesCloseThemselves) {
  berth_session handle = 0;
  {
    auto session = berth::Session::attach(BERTH_QUIET);
    ASSERT_TRUE(session.ok());
    handle = session->get();
    EXPECT_TRUE(session->facts().ok());
    auto measured = session->measure();
    ASSERT_TRUE(measured.ok());
    EXPECT_TRUE(berth::known(measured->host_used));
  }
  EXPECT_EQ(berth_detach(handle), BERTH_STALE);
}

}  // namespace
