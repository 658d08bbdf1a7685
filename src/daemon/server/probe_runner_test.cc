// SPDX-License-Identifier: Apache-2.0
// The real berth-probe in an event loop.
#include "server/probe_runner.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <optional>

#include "gpu/child_plan.h"
#include "gpu/world_for_test.h"

namespace berth::server {
namespace {

class SetClock final : public os::Clock {
 public:
  Instant now() const override { return time; }
  UnixMs wall() const override { return {}; }
  Instant time{seconds(100).ns};
};

class ProbeRunnerTest : public testing::Test {
 protected:
  /// Asks, and runs until there is an answer and nothing more is due.
  void ask(Duration answered_after) {
    outcome.reset();
    io.restart();
    runner.ask();
    clock.time = clock.time + answered_after;
    while (!outcome) ASSERT_GT(io.run_one_for(std::chrono::seconds(30)), 0U);
    io.poll();
  }

  const gpu::TestWorld world{"1x16GiB"};
  boost::asio::io_context io;
  SetClock clock;
  std::optional<gpu::Probe::Outcome> outcome;
  ProbeRunner runner{io,
                     clock,
                     {.child = *gpu::child_plan("berth-probe", "1x16GiB")},
                     [this](gpu::Probe::Outcome of) { outcome = std::move(of); }};
};

TEST_F(ProbeRunnerTest, WhenNobodyAsksForAMinuteNvmlIsUnloaded) {
  ask(ProbeRunner::kRestAfter + milliseconds(-1));
  ASSERT_TRUE(outcome->sample);
  EXPECT_GT(runner.probe().child(), 0) << "it may be asked again";
  ask(ProbeRunner::kRestAfter);
  EXPECT_TRUE(outcome->sample);
  EXPECT_EQ(runner.probe().child(), 0);
  ask({});
  EXPECT_TRUE(outcome->sample) << "a question starts it again";
  EXPECT_GT(runner.probe().child(), 0);
}

}  // namespace
}  // namespace berth::server
