// SPDX-License-Identifier: Apache-2.0
#include "library/daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/check.h"
#include "berth/berth.h"
#include "wire/hello.h"
#include "wire/lease.h"
#include "wire/request.h"

namespace berth::library {
namespace {

std::string chunk(const std::string& text) {
  char size[20];
  (void)std::snprintf(size, sizeof size, "%zx\r\n", text.size());
  return size + text + "\r\n";
}

std::string event_of(wire::EventName name, const LeaseView& view) {
  const wire::UserNames names;
  return wire::encode_event({.event = std::string(to_text(name)),
                             .id = {},
                             .data = wire::encode_lease(view, {.user = {}, .names = names})});
}

// Answers each connection with the next of some streams, and hangs up. Who looks at the lease is
// told of it besides.
class FakeDaemon {
 public:
  explicit FakeDaemon(std::vector<std::string> streams, LeaseState state = LeaseState::kHeld)
      : state_(state), directory_(make_directory()) {
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    CHECK(path().size() < sizeof address.sun_path);
    std::memcpy(address.sun_path, path().c_str(), path().size() + 1);
    CHECK(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    CHECK(::listen(listener_, 8) == 0);
    serving_ = std::thread([this, all = std::move(streams)] {
      for (const std::string& stream : all) {
        while (serve(stream) == Served::kLook) continue;
      }
    });
  }
  ~FakeDaemon() {
    ::shutdown(listener_, SHUT_RDWR);
    if (serving_.joinable()) serving_.join();
    ::close(listener_);
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  FakeDaemon(const FakeDaemon&) = delete;
  FakeDaemon& operator=(const FakeDaemon&) = delete;
  std::string path() const { return directory_ + "/s"; }
  /// What all connections have sent, once as many have come as there are streams.
  std::string requests() {
    if (serving_.joinable()) serving_.join();
    return requests_;
  }

 private:
  static std::string make_directory() {
    std::string made = "/tmp/berth.XXXXXX";
    CHECK(::mkdtemp(made.data()) != nullptr);
    return made;
  }
  enum class Served : std::uint8_t { kStream, kLook };
  Served serve(const std::string& stream) {
    const int client = ::accept(listener_, nullptr, nullptr);
    if (client < 0) return Served::kStream;
    std::string request;
    char bytes[4'096];
    while (request.find("\r\n\r\n") == std::string::npos) {
      const ssize_t count = ::read(client, bytes, sizeof bytes);
      if (count <= 0) break;
      request.append(bytes, static_cast<std::size_t>(count));
    }
    const bool looks = request.starts_with("GET /v1/leases/" + to_text(Handle{1, 2}) + " HTTP");
    if (!looks) requests_ += request;
    const std::string hello = wire::encode_hello(
        wire::ServerHello{.version = "0.1.0", .world = "real", .simulated = false, .pid = 1});
    const std::string answer = "HTTP/1.1 200 OK\r\nContent-Type: " +
                               std::string(looks ? "application/json" : "text/event-stream") +
                               "\r\nTransfer-Encoding: chunked\r\nBerth-Hello: " + hello +
                               "\r\n\r\n" + (looks ? chunk(lease()) + "0\r\n\r\n" : chunk(stream));
    CHECK(::write(client, answer.data(), answer.size()) > 0);
    ::close(client);
    return looks ? Served::kLook : Served::kStream;
  }
  std::string lease() const {
    LeaseView view;
    view.id = {7};
    view.handle = {1, 2};
    view.state = state_;
    const wire::UserNames names;
    return wire::encode_lease(view, {.user = {}, .names = names});
  }

  const LeaseState state_;
  std::string directory_;
  int listener_ = -1;
  std::string requests_;
  std::thread serving_;
};

LeaseView lease_with(CheckpointKind kind) {
  LeaseView view;
  view.id = {7};
  view.state = LeaseState::kHeld;
  view.request.checkpoint = CheckpointWay{.kind = kind, .grace = seconds(30), .every = {}};
  return view;
}

class AsksTest : public ::testing::Test {
 protected:
  AsksTest() { ::unsetenv("BERTH_SIM"); }

  static LeaseView asked(std::uint64_t number, CheckpointKind kind = CheckpointKind::kLibrary) {
    LeaseView view = lease_with(kind);
    view.checkpoints.asked =
        CheckpointAsk{.number = number, .reason = CheckpointReason::kLimit, .at = {}};
    return view;
  }
  static Asks listen(const FakeDaemon& daemon) { return {Daemon::at(daemon.path()), "l_x"}; }
};

TEST_F(AsksTest, ASaveThatWasAskedForBeforeAnybodyListenedIsSeenOnce) {
  const FakeDaemon daemon({event_of(wire::EventName::kLease, asked(3)) +
                           event_of(wire::EventName::kCheckpoint, asked(3)) +
                           event_of(wire::EventName::kCheckpoint, asked(4))});
  Asks asks = listen(daemon);
  const auto first = asks.next(seconds(10));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->kind, Ask::Kind::kCheckpoint);
  EXPECT_EQ(first->number, 3U);
  EXPECT_EQ(first->reason, "limit");
  EXPECT_EQ(first->within, seconds(30));
  const auto second = asks.next(seconds(10));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->number, 4U);
  EXPECT_FALSE(asks.next({}));
}

TEST_F(AsksTest, ASaveThatBerthRunMakesIsNotAskedOfTheLibrary) {
  const FakeDaemon daemon({event_of(wire::EventName::kLease, asked(3, CheckpointKind::kCmd)) +
                           event_of(wire::EventName::kCheckpoint, asked(4))});
  Asks asks = listen(daemon);
  const auto first = asks.next(seconds(10));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->number, 4U);
}

TEST_F(AsksTest, PressureAsksForACleanupOnceARise) {
  LeaseView critical = lease_with(CheckpointKind::kCmd);
  critical.pressure = Pressure::kCritical;
  LeaseView warned = critical;
  warned.pressure = Pressure::kWarn;
  const FakeDaemon daemon({event_of(wire::EventName::kPressure, warned) +
                           event_of(wire::EventName::kPressure, critical) +
                           event_of(wire::EventName::kPressure, critical) +
                           event_of(wire::EventName::kRevoked, critical)});
  Asks asks = listen(daemon);
  const auto cleanup = asks.next(seconds(10));
  ASSERT_TRUE(cleanup);
  EXPECT_EQ(cleanup->kind, Ask::Kind::kCleanup);
  const auto release = asks.next(seconds(10));
  ASSERT_TRUE(release);
  EXPECT_EQ(release->kind, Ask::Kind::kRelease);
}

TEST_F(AsksTest, ACleanupOfALadderIsAskedForOnce) {
  LeaseView cleans = lease_with(CheckpointKind::kLibrary);
  cleans.measures = {{.number = 1, .measure = Measure::kSuspend, .cause = Cause::kUnmanaged},
                     {.number = 2, .measure = Measure::kCleanup, .cause = Cause::kOverBudget}};
  LeaseView cleaned = cleans;
  cleaned.measures[1].outcome = MeasureOutcome::kConfirmed;
  LeaseView again = cleaned;
  again.measures[1] = {.number = 3, .measure = Measure::kCleanup, .cause = Cause::kUnmanaged};
  const FakeDaemon daemon(
      {event_of(wire::EventName::kMeasure, cleans) + event_of(wire::EventName::kMeasure, cleans) +
       event_of(wire::EventName::kMeasure, cleaned) + event_of(wire::EventName::kMeasure, again)});
  Asks asks = listen(daemon);
  const auto first = asks.next(seconds(10));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->kind, Ask::Kind::kCleanup);
  EXPECT_EQ(first->reason, "over_budget");
  const auto second = asks.next(seconds(10));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->reason, "unmanaged");
  EXPECT_FALSE(asks.next({}));
}

TEST_F(AsksTest, ADaemonThatHangsUpIsFoundAgain) {
  const FakeDaemon daemon({event_of(wire::EventName::kLease, asked(1)),
                           event_of(wire::EventName::kLease, asked(1)) +
                               event_of(wire::EventName::kCheckpoint, asked(2))});
  Asks asks = listen(daemon);
  ASSERT_TRUE(asks.next(seconds(10)));
  const auto again = asks.next(seconds(10));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->number, 2U);
}

TEST_F(AsksTest, WithoutADaemonThereIsNothingAndTheWaitEnds) {
  Asks asks(Daemon::at("/nowhere/berthd.sock"), "l_x");
  EXPECT_FALSE(asks.next({}));
  EXPECT_FALSE(asks.next(milliseconds(20)));
}

// A session whose lease is with this daemon.
class Served : public AsksTest {
 protected:
  ~Served() override {
    for (const char* name : {"BERTH_LEASE_ID", "BERTH_SOCKET"}) ::unsetenv(name);
    EXPECT_EQ(berth_detach(session), BERTH_OK);
  }
  void attach(const FakeDaemon& daemon) { attach_at(daemon.path()); }
  void attach_without_a_daemon() { attach_at("/nowhere/berthd.sock"); }
  void attach_at(const std::string& socket) {
    ::setenv("BERTH_LEASE_ID", to_text(Handle{1, 2}).c_str(), 1);
    ::setenv("BERTH_SOCKET", socket.c_str(), 1);
    const berth_session_options options = {
        .size = sizeof options, .flags = BERTH_QUIET, .say = nullptr, .user = nullptr};
    ASSERT_EQ(berth_attach(&options, &session), BERTH_OK);
  }
  berth_session session = 0;
};

TEST_F(Served, WhatTheFunctionSaysIsTold) {
  FakeDaemon daemon({event_of(wire::EventName::kCheckpoint, asked(5)), ""});
  attach(daemon);
  std::uint32_t action = 0;
  (void)berth_session_serve(
      session, 10'000,
      [](void* user, const berth_ask* ask) -> std::int32_t {
        *static_cast<std::uint32_t*>(user) = ask->action;
        return BERTH_DONE;
      },
      &action);
  EXPECT_EQ(action, std::uint32_t{BERTH_CHECKPOINT});
  EXPECT_THAT(daemon.requests(), ::testing::HasSubstr("/checkpointed"));
  EXPECT_THAT(daemon.requests(), ::testing::HasSubstr(R"("outcome":"saved")"));
}

TEST_F(Served, AFunctionThatThrowsHasNotSaved) {
  FakeDaemon daemon({event_of(wire::EventName::kCheckpoint, asked(5)), ""});
  attach(daemon);
  const berth_status served = berth_session_serve(
      session, 10'000,
      [](void*, const berth_ask*) -> std::int32_t { return std::vector<int>().at(1); }, nullptr);
  EXPECT_EQ(served, BERTH_CALLBACK);
  EXPECT_THAT(daemon.requests(), ::testing::HasSubstr(R"("outcome":"failed")"));
}

TEST_F(Served, ARenewalIsAskedOfItsLease) {
  FakeDaemon daemon({""});
  attach(daemon);
  EXPECT_NE(berth_renew(session, 90'000), BERTH_OK);  // A daemon that answers nothing.
  const std::string asked = daemon.requests();
  EXPECT_THAT(asked, ::testing::HasSubstr("/v1/leases/" + to_text(Handle{1, 2}) + "/renew"));
  EXPECT_THAT(asked, ::testing::HasSubstr(wire::encode(RenewBody{.ttl = seconds(90)})));
}

TEST_F(Served, ProgressIsToldOfItsLeaseAndNotOfEachStep) {
  FakeDaemon daemon({""});
  attach(daemon);
  const berth_progress progress = {.size = sizeof progress,
                                   .reserved = 0,
                                   .done = 3,
                                   .total = 9,
                                   .left_ms = 2'000,
                                   .note = "epoch 1",
                                   .loss = nullptr,
                                   .phase = nullptr};
  EXPECT_NE(berth_report_progress(session, &progress), BERTH_OK);  // It answers nothing.
  const std::string asked = daemon.requests();
  EXPECT_THAT(asked, ::testing::HasSubstr("/v1/leases/" + to_text(Handle{1, 2}) + "/progress"));
  EXPECT_THAT(asked, ::testing::HasSubstr(wire::encode(ProgressBody{
                         .done = 3, .total = 9, .left = seconds(2), .note = "epoch 1"})));
  for (int step = 0; step < 1'000; ++step) {
    EXPECT_EQ(berth_report_progress(session, &progress), BERTH_OK) << "nobody is asked again yet";
  }
}

TEST_F(Served, LossAndPhaseAreToldToo) {
  FakeDaemon daemon({""});
  attach(daemon);
  const double loss = 2.5;
  const berth_progress progress = {.size = sizeof progress,
                                   .reserved = 0,
                                   .done = 3,
                                   .total = 0,
                                   .left_ms = 0,
                                   .note = nullptr,
                                   .loss = &loss,
                                   .phase = "warmup"};
  (void)berth_report_progress(session, &progress);
  EXPECT_THAT(
      daemon.requests(),
      ::testing::HasSubstr(wire::encode(ProgressBody{.done = 3, .loss = 2.5, .phase = "warmup"})));
}

// A program that was compiled before there were a loss and a phase.
TEST_F(Served, ProgressOfAnOlderProgramIsTold) {
  FakeDaemon daemon({""});
  attach(daemon);
  const berth_progress progress = {.size = offsetof(berth_progress, loss),
                                   .reserved = 0,
                                   .done = 3,
                                   .total = 0,
                                   .left_ms = 0,
                                   .note = "old",
                                   .loss = reinterpret_cast<const double*>(1),
                                   .phase = reinterpret_cast<const char*>(1)};
  (void)berth_report_progress(session, &progress);
  EXPECT_THAT(daemon.requests(),
              ::testing::HasSubstr(wire::encode(ProgressBody{.done = 3, .note = "old"})));
}

TEST_F(Served, ProgressThatMakesNoSenseIsRefusedByName) {
  FakeDaemon daemon({""});
  attach(daemon);
  EXPECT_EQ(berth_report_progress(session, nullptr), BERTH_INVALID);
  berth_progress progress = {.size = sizeof progress,
                             .reserved = 0,
                             .done = 10,
                             .total = 9,
                             .left_ms = 0,
                             .note = nullptr,
                             .loss = nullptr,
                             .phase = nullptr};
  EXPECT_EQ(berth_report_progress(session, &progress), BERTH_INVALID);
  EXPECT_STREQ(berth_last_error(), "progress.done (10) is above progress.total (9)");
  const std::string note(201, 'x');
  progress.total = 0;
  progress.note = note.c_str();
  EXPECT_EQ(berth_report_progress(session, &progress), BERTH_INVALID);
  EXPECT_STREQ(berth_last_error(), "progress.note has 201 bytes: at most 200 are told");
  progress.note = nullptr;
  const std::string phase(33, 'x');
  progress.phase = phase.c_str();
  EXPECT_EQ(berth_report_progress(session, &progress), BERTH_INVALID);
  EXPECT_STREQ(berth_last_error(), "progress.phase has 33 bytes: at most 32 are told");
  progress.phase = nullptr;
  const double loss = std::numeric_limits<double>::quiet_NaN();
  progress.loss = &loss;
  EXPECT_EQ(berth_report_progress(session, &progress), BERTH_INVALID);
  EXPECT_STREQ(berth_last_error(), "progress.loss is not finite");
  EXPECT_EQ(berth_report_progress(0, &progress), BERTH_STALE);
}

TEST_F(Served, ALeaseThatIsOverIsNone) {
  for (const LeaseState state :
       {LeaseState::kHeld, LeaseState::kSuspended, LeaseState::kReleasing, LeaseState::kEnded}) {
    FakeDaemon daemon({""}, state);
    attach(daemon);
    berth_session_facts facts = {.size = sizeof facts};
    ASSERT_EQ(berth_session_describe(session, &facts), BERTH_OK);
    const bool lasts = state == LeaseState::kHeld || state == LeaseState::kSuspended;
    EXPECT_EQ((facts.flags & BERTH_HAS_LEASE) != 0, lasts) << to_text(state);
    if (!lasts) {
      EXPECT_EQ(berth_renew(session, 1), BERTH_UNAVAILABLE);
    }
    ASSERT_EQ(berth_detach(session), BERTH_OK);
  }
  attach_without_a_daemon();
  berth_session_facts facts = {.size = sizeof facts};
  ASSERT_EQ(berth_session_describe(session, &facts), BERTH_OK);
  EXPECT_NE(facts.flags & BERTH_HAS_LEASE, 0U) << "nobody can say, so it is believed";
}

TEST_F(Served, OneThreadListensAtATime) {
  FakeDaemon daemon({""});
  attach(daemon);
  std::thread listening([this] {
    berth_ask ask = {.size = sizeof ask};
    berth_status heard = BERTH_BUSY;  // As long as the other one has it.
    while (heard == BERTH_BUSY) heard = berth_session_next_ask(session, 400, &ask);
    EXPECT_EQ(heard, BERTH_NOT_FOUND);
  });
  berth_status status = BERTH_NOT_FOUND;
  berth_ask ask = {.size = sizeof ask};
  while (status == BERTH_NOT_FOUND) status = berth_session_next_ask(session, 0, &ask);
  EXPECT_EQ(status, BERTH_BUSY);
  listening.join();
}

TEST_F(Served, WithoutALeaseNobodyAsks) {
  const berth_session_options options = {
      .size = sizeof options, .flags = BERTH_QUIET, .say = nullptr, .user = nullptr};
  ASSERT_EQ(berth_attach(&options, &session), BERTH_OK);
  berth_ask ask = {.size = sizeof ask};
  EXPECT_EQ(berth_session_next_ask(session, 0, &ask), BERTH_UNAVAILABLE);
  EXPECT_EQ(berth_session_next_ask(session, 0, nullptr), BERTH_INVALID);
  EXPECT_EQ(berth_session_serve(session, 0, nullptr, nullptr), BERTH_INVALID);
  EXPECT_EQ(berth_resize(session, 1, 0), BERTH_UNAVAILABLE);
  EXPECT_EQ(berth_renew(session, 1), BERTH_UNAVAILABLE);
  const berth_progress progress = {.size = sizeof progress,
                                   .reserved = 0,
                                   .done = 1,
                                   .total = 9,
                                   .left_ms = 0,
                                   .note = nullptr,
                                   .loss = nullptr,
                                   .phase = nullptr};
  EXPECT_EQ(berth_report_progress(session, &progress), BERTH_UNAVAILABLE);
  EXPECT_EQ(berth_release(session), BERTH_CONFLICT);
}

}  // namespace
}  // namespace berth::library
