// SPDX-License-Identifier: Apache-2.0
// Simulated clients are no worse than real ones: what they do wrong would be taken for a
// fault of the daemon.
#include "sim/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/coordinator.h"
#include "sim/disk.h"

namespace berth::sim {
namespace {

/// A session that asks a daemon which does as the test says, over a network without faults.
class Told : private Gate {
 public:
  explicit Told(std::uint64_t seed = 1) : context(seed, false) {
    wants.user = {1000};
    wants.request.vram = gib(4);
    wants.client.claims_after = seconds(5);
    wants.command.runs_for = seconds(10);
    network.listen(*this);
  }
  void begin() {
    session = std::make_unique<Session>(env, wants);
    session->start(std::nullopt);
    pass(milliseconds(10));
  }
  void pass(Duration time) {
    const Instant end = context.clock.instant() + time;
    context.clock.at(end, [] {});
    while (context.clock.instant() < end) context.clock.step();
  }
  static Device gpu() {
    return {.id = {1, 2, false}, .model = "GPU", .capacity = gib(16), .figures = {}, .uses = {}};
  }
  static LeaseView view() {
    LeaseView view{.id = {1}, .handle = {7, 7}};
    view.flags.unclaimed = true;
    return view;
  }
  /// On the connection over which it asked last.
  void tell(const char* event) {
    network.item(asks.back().first, {.event = event, .body = view()});
    pass(milliseconds(1));
  }
  void restart() {
    network.cut_all();
    network.listen(*this);
  }
  void let_run() {
    network.answer(asks.back().first, view());
    pass(milliseconds(10));
    ASSERT_NE(session->program(), nullptr);
  }
  void write_that_it_stops() {
    core::Coordinator coordinator{core::Settings{}};
    const std::vector<Fact> facts = {
        RequestQueued{{1}, {7, 7}, {1000}, {}, wants.request},
        LeaseGranted{{1}, {{{1, 2, false}, gib(4)}}},
        LeaseClaimed{{1}, session->program()->command()},
        RequeueAsked{{1}},
        RequeueBegun{{1}, context.clock.instant() + seconds(1)},
    };
    std::uint64_t sequence = 0;
    for (const Fact& fact : facts) {
      EXPECT_TRUE(coordinator.apply({++sequence, context.clock.instant(), {5}, fact}).ok());
    }
    checker.replaced(coordinator.snapshot(context.clock.now()), sequence, true);
  }
  template <class What>
  std::size_t asked_for() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        asks, [](const auto& ask) { return std::holds_alternative<What>(ask.second); }));
  }

  SimContext context;
  Plan plan;
  SessionPlan wants;
  Processes processes{context, 0};
  Devices devices{context, processes, {gpu()}, {}};
  Disk disk{context};
  Network network{context, plan};
  InvariantChecker checker{context, devices, processes, disk};
  SimEnv env{context, plan, processes, devices, network, checker};
  std::unique_ptr<Session> session;
  std::vector<std::pair<ConnectionId, server::Command>> asks;  // In the order they arrived.

 private:
  void asked(ConnectionId connection, server::Command ask, server::Engine::Listen) override {
    asks.emplace_back(connection, std::move(ask));
  }
  void on_disconnect(ConnectionId) override {}
};

TEST(Session, WhoIsToldOfAnOfferTakesItUp) {
  Told test;
  test.begin();
  test.tell("waiting");
  test.tell("granted");
  EXPECT_EQ(test.asked_for<core::Claim>(), 0U);
  test.pass(seconds(6));
  EXPECT_EQ(test.asked_for<core::Claim>(), 1U);
}

// The offer of which it was told before may have lapsed with that daemon.
TEST(Session, WhoAsksADaemonAnewWaitsForWhatThatSays) {
  Told test;
  test.begin();
  test.tell("waiting");
  test.tell("granted");
  test.restart();
  test.pass(seconds(10));
  EXPECT_EQ(test.asked_for<core::Reconnect>(), 1U);
  EXPECT_EQ(test.asked_for<core::Claim>(), 0U) << "a second call on a connection that waits";
  test.tell("granted");
  test.pass(seconds(6));
  EXPECT_EQ(test.asked_for<core::Claim>(), 1U);
}

// It loses its connection when it has been told of an offer; claims, runs and is requeued before it
// would have asked anew. When it does all that is drawn: so it is told a few times.
TEST(Session, WhoRanAndWaitsAgainAsksOnOneConnection) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Told test(seed);
    test.wants.client.claims_after = milliseconds(10);
    test.wants.request.requeue_grace = seconds(1);
    test.begin();
    test.tell("waiting");
    test.tell("granted");
    test.restart();
    while (test.asked_for<core::Claim>() == 0) test.pass(milliseconds(1));
    test.let_run();
    test.write_that_it_stops();
    test.pass(seconds(5));
    EXPECT_EQ(test.asked_for<core::Reconnect>(), 1U) << seed;
  }
}

}  // namespace
}  // namespace berth::sim
