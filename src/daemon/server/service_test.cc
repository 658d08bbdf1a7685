// SPDX-License-Identifier: Apache-2.0
#include "server/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "base/checked.h"
#include "server/service_story_for_test.h"
#include "wire/answers.h"
#include "wire/request.h"

namespace berth::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST_F(ServiceTest, LifeOfALeaseByItsRoutes) {
  const ConnectionId run = connect(kAna);
  const http::Answer submitted = ask(run, "POST", "/v1/leases", request(gib(8)));
  EXPECT_EQ(submitted.status, 201);
  const std::string path = "/v1/leases/" + to_text(lease(submitted).handle);
  EXPECT_EQ(lease(submitted).state, LeaseState::kHeld);
  EXPECT_TRUE(lease(submitted).flags.unclaimed);

  const http::Answer claimed = ask(run, "POST", path + "/claim", wire::encode(ClaimBody{{101, 9}}));
  EXPECT_EQ(claimed.status, 200);
  EXPECT_THAT(claimed.body, AllOf(HasSubstr(R"("CUDA_VISIBLE_DEVICES":"0")"),
                                  HasSubstr(R"("BERTH_SOCKET":"/run/berthd.sock")"),
                                  HasSubstr(R"("BERTH_VRAM_BYTES":"8589934592")")));
  EXPECT_EQ(ask(run, "POST", path + "/join", wire::encode(Process{102, 9})).status, 200);
  EXPECT_EQ(post("/v1/leases/1/resize", R"({"vram_bytes":4294967296})").status, 200);
  EXPECT_EQ(lease(get("/v1/leases/1")).parts.at(0).granted, gib(4));
  EXPECT_EQ(get("/v1/leases/1/why").status, 200);
  EXPECT_EQ(code_of(post("/v1/leases/1/renew", R"({"ttl_ms":60000})")), "wrong_state");
  EXPECT_EQ(code_of(post(path + "/park", R"({"parked":true})")), "wrong_state");
  EXPECT_EQ(post(path + "/exit", wire::encode(ExitBody{.exit = {.code = 3}})).status, 200);
  engine_.process_ended(service_.now(), {102, 9});
  sample();
  const LeaseView ended = lease(get("/v1/leases/1"));
  EXPECT_EQ(ended.state, LeaseState::kEnded);
  EXPECT_EQ(ended.result, EndResult::kFailed);
}

TEST_F(ServiceTest, OverviewsAnswer) {
  (void)hold(gib(8));
  EXPECT_EQ(get("/healthz").body, R"({"status":"ok"})");
  EXPECT_THAT(get("/v1/version").body, HasSubstr(R"("pid":77)"));
  EXPECT_THAT(get("/v1/daemon").body, HasSubstr("berth/daemon/v1"));
  EXPECT_THAT(get("/v1/status").body, AllOf(HasSubstr("berth/status/v1"), HasSubstr("GPU-")));
  EXPECT_THAT(get("/v1/devices").body, HasSubstr("GPU-"));
  EXPECT_THAT(get("/v1/queue").body, HasSubstr(R"("items":[])"));
  EXPECT_THAT(get("/v1/leases").body, HasSubstr("berth/ps/v1"));
  EXPECT_EQ(get("/v1/openapi.json").status, 200);
}

TEST_F(ServiceTest, EndedLeasesAreListedWhenAskedFor) {
  end(hold(gib(8)));
  EXPECT_THAT(get("/v1/leases").body, HasSubstr(R"("items":[])"));
  EXPECT_THAT(get("/v1/leases?all=1").body, HasSubstr(R"("state":"ended")"));
}

TEST_F(ServiceTest, QueueIsListedNextFirst) {
  (void)hold(gib(16));
  const ConnectionId first = connect(kAna);
  const ConnectionId second = connect(kAna);
  (void)ask(first, "POST", "/v1/leases", request(gib(8)));
  (void)ask(second, "POST", "/v1/leases", request(gib(9)));
  const auto queue = wire::decode_leases(get("/v1/queue").body);
  ASSERT_TRUE(queue.ok());
  ASSERT_EQ(queue->items.size(), 2U);
  EXPECT_EQ(queue->items[0].id, LeaseId{2});
  EXPECT_EQ(queue->items[1].queue_position, 2U);
}

// Streams.

TEST_F(ServiceTest, WaitingRequestListensUpToTheGrantAndThenClaims) {
  const LeaseView holder = hold(gib(16));
  const ConnectionId run = connect(kAna);
  (void)ask(run, "POST", "/v1/leases", request(gib(8)), true);
  EXPECT_THAT(sent_.streams[run], AllOf(HasSubstr("event: lease\n"), HasSubstr("event: waiting\n"),
                                        Not(HasSubstr("<end>"))));
  end(holder);
  EXPECT_THAT(sent_.streams[run], AllOf(HasSubstr("event: granted\n"), HasSubstr("<end>")));
  const LeaseView granted = lease(get("/v1/leases/2"));
  EXPECT_EQ(ask(run, "POST", "/v1/leases/" + to_text(granted.handle) + "/claim",
                wire::encode(Process{102, 9}))
                .status,
            200);
}

TEST_F(ServiceTest, RefusalIsAPlainErrorEvenToAClientThatWouldListen) {
  const ConnectionId run = connect(kAna);
  const http::Answer answer = ask(run, "POST", "/v1/leases", request(gib(64)), true);
  EXPECT_EQ(answer.status, 422);
  EXPECT_EQ(code_of(answer), "never_fits");
  EXPECT_THAT(answer.body, HasSubstr("16.0 GiB"));
  EXPECT_THAT(sent_.streams[run], IsEmpty());
}

TEST_F(ServiceTest, AUserWhoAsksTooFastIsToldWhenToAskAgain) {
  service_.configure({.hello = {.version = "0.1.0", .world = "real", .pid = 77},
                      .own_user = kAna,
                      .pace = {.per_second = 10, .at_once = 2},
                      .environment = {.socket = "/run/berthd.sock"}});
  const ConnectionId ben = connect(kBen);
  EXPECT_EQ(ask(ben, "POST", "/v1/leases", request(gib(1))).status, 201);
  EXPECT_EQ(ask(ben, "POST", "/v1/leases", request(gib(1))).status, 201);
  const http::Answer third = ask(ben, "POST", "/v1/leases", request(gib(1)));
  EXPECT_EQ(third.status, 429);
  const wire::ApiError error = wire::decode_error(third.body);
  EXPECT_EQ(error.code, "too_fast");
  EXPECT_EQ(error.retry_after, milliseconds(100));
  EXPECT_THAT(error.message, HasSubstr("faster than 10 a second"));
  EXPECT_EQ(ask(ben, "GET", "/v1/leases").status, 200) << "what makes nothing is not counted";
  EXPECT_EQ(post("/v1/fit", request(gib(1)), kBen).status, 200);
  EXPECT_EQ(post("/v1/leases", request(gib(1)), kAna).status, 201) << "another user is not bounded";
  clock_.at = clock_.at + checked(error.retry_after);
  EXPECT_EQ(ask(ben, "POST", "/v1/leases", request(gib(1))).status, 201);
  for (const UserId root : {kRoot, kRoot, kRoot}) {
    (void)post("/v1/leases", request(gib(1)), root);
  }
  EXPECT_EQ(code_of(sent_.last), "too_fast") << "a loop of root's is a loop";
}

TEST_F(ServiceTest, WhatOfALeaseIsAnotherUsersByNowIsNamed) {
  const LeaseView held = hold(gib(8));
  world_.others.insert(Process{101, 9});
  (void)post("/v1/leases/" + to_text(held.handle) + "/cancel");
  EXPECT_EQ(lease(get("/v1/leases/" + to_text(held.handle))).left_alone, std::vector{101});
}

TEST_F(ServiceTest, RequestThatEndsWithoutAGrantSaysWhy) {
  (void)hold(gib(16));
  const ConnectionId run = connect(kAna);
  (void)ask(run, "POST", "/v1/leases", request(gib(8)), true);
  (void)post("/v1/leases/2/cancel");
  EXPECT_THAT(sent_.streams[run], AllOf(HasSubstr("event: ended\n"), HasSubstr("cancelled"),
                                        HasSubstr(R"("refusal":{)"), HasSubstr("<end>")));
}

TEST_F(ServiceTest, EventsOfAllLeasesAreNumbered) {
  const ConnectionId watcher = connect(kAna);
  (void)ask(watcher, "GET", "/v1/events");
  end(hold(gib(8)));
  EXPECT_THAT(sent_.streams[watcher], AllOf(HasSubstr("event: ended\n"), HasSubstr("id: 1\n")));
  const std::size_t before = sent_.streams[watcher].size();
  service_.keep_streams_alive();
  EXPECT_GT(sent_.streams[watcher].size(), before);
}

TEST_F(ServiceTest, UserHasABoundOnStreamsAndGetsThemBack) {
  const ConnectionId first = connect(kAna);
  const ConnectionId second = connect(kAna);
  (void)ask(first, "GET", "/v1/events");
  (void)ask(second, "POST", "/v1/fit", request(gib(8)), true);
  EXPECT_EQ(service_.event_streams(), 2U);
  const http::Answer third = get("/v1/events");
  EXPECT_EQ(third.status, 429);
  EXPECT_THAT(third.body, HasSubstr("event_streams"));
  EXPECT_EQ(ask(connect(kBen), "GET", "/v1/events").status, 0) << "the bound is one user's";
  service_.closed(first);
  EXPECT_EQ(ask(connect(kAna), "GET", "/v1/events").status, 0);
}

TEST_F(ServiceTest, StreamThatIsRefusedIsNotCounted) {
  (void)ask(connect(kAna), "GET", "/v1/leases/99/events");
  (void)ask(connect(kAna), "POST", "/v1/fit", request(gib(64)), true);
  EXPECT_EQ(service_.event_streams(), 0U);
}

TEST_F(ServiceTest, FitSaysNowOrWhenItChanges) {
  const auto fits = wire::decode_fit(post("/v1/fit", request(gib(8))).body);
  ASSERT_TRUE(fits.ok());
  EXPECT_TRUE(fits->fits);
  const ConnectionId waiter = connect(kAna);
  (void)ask(waiter, "POST", "/v1/fit", request(gib(8)), true);
  EXPECT_THAT(sent_.streams[waiter], HasSubstr("event: fit\n"));
  EXPECT_EQ(code_of(post("/v1/fit", request(gib(64)))), "never_fits");
}

// Figures.

TEST_F(ServiceTest, ALookAtADaemonThatRestedWaitsForFreshFigures) {
  clock_.at = clock_.at + hours(1);
  const int before = world_.questions;
  const ConnectionId looks = connect(kAna);
  EXPECT_EQ(ask(looks, "GET", "/v1/status").status, 0);
  EXPECT_EQ(world_.questions, before + 1);
  const ConnectionId leaves = connect(kAna);
  (void)ask(leaves, "POST", "/v1/leases", request(gib(1)));
  service_.closed(leaves);
  EXPECT_EQ(get("/healthz").status, 200) << "what needs no figures does not wait";
  sample();
  service_.figures_came();
  EXPECT_EQ(sent_.last.status, 200);
  EXPECT_EQ(sent_.last_connection, looks);
  EXPECT_EQ(get("/v1/status").status, 200) << "now they are fresh";
  EXPECT_THAT(get("/v1/leases").body, HasSubstr(R"("items":[])"));
}

TEST_F(ServiceTest, DriverThatHangsKeepsNobodyWaitingForLong) {
  clock_.at = clock_.at + hours(1);
  EXPECT_EQ(get("/v1/status").status, 0);
  EXPECT_EQ(service_.next_wake(), clock_.at + seconds(3));
  clock_.at = service_.next_wake();
  service_.on_timer();
  EXPECT_EQ(sent_.last.status, 200);
  clock_.at = clock_.at + hours(1);
  EXPECT_EQ(get("/v1/status").status, 200) << "and the next one not at all";
}

// Who asks.

TEST_F(ServiceTest, OneUserCannotTouchAnothersLeaseAndRootCan) {
  const std::string handle = to_text(hold(gib(8)).handle);
  for (const auto& [target, body] : std::vector<std::pair<std::string, std::string>>{
           {"/v1/leases/1/release", ""},
           {"/v1/leases/1/cancel", ""},
           {"/v1/leases/1/resize", R"({"vram_bytes":1073741824})"},
           {"/v1/leases/1/renew", R"({"ttl_ms":60000})"},
           {"/v1/leases/" + handle + "/join", wire::encode(Process{201, 9})},
           {"/v1/leases/" + handle + "/exit", wire::encode(ExitBody{})},
           {"/v1/leases/" + handle + "/reconnect", ""}}) {
    const http::Answer answer = post(target, body, kBen);
    EXPECT_EQ(answer.status, 403) << target << " " << answer.body;
    EXPECT_EQ(code_of(answer), "not_yours") << target;
  }
  // Its command runs, and would go on.
  EXPECT_EQ(code_of(post("/v1/leases/1/release", "", kRoot)), "running");
  const http::Answer detached = post("/v1/leases/1/release", R"({"detach":true})", kRoot);
  EXPECT_EQ(detached.status, 200);
  EXPECT_THAT(detached.body, HasSubstr(R"("result":"detached")"));
}

TEST_F(ServiceTest, CommandLinesOfOthersAreNotShown) {
  (void)hold(gib(8));
  EXPECT_THAT(get("/v1/leases", kAna).body, HasSubstr("train.py"));
  EXPECT_THAT(get("/v1/leases", kBen).body, AllOf(HasSubstr("ana"), Not(HasSubstr("train.py"))));
  EXPECT_THAT(get("/v1/leases", kRoot).body, HasSubstr("train.py"));
}

// It names the directory of the files that hold the lease to its budget.
TEST_F(ServiceTest, HandlesOfOthersAreNotShownAndCannotBeGuessedLetterByLetter) {
  const std::string handle = to_text(hold(gib(4)).handle);
  ASSERT_EQ(handle.size(), 28U);
  const ConnectionId follower = connect(kBen);
  (void)ask(follower, "GET", "/v1/events");
  const ConnectionId listener = connect(kBen);
  (void)ask(listener, "GET", "/v1/leases/1/events");
  for (const char* target : {"/v1/leases/1", "/v1/leases?all=1", "/v1/status", "/v1/queue"}) {
    EXPECT_THAT(get(target, kBen).body, Not(HasSubstr(handle))) << target;
  }
  EXPECT_THAT(get("/v1/leases/1", kBen).body, HasSubstr(R"("handle":null)"));
  EXPECT_THAT(get("/v1/leases/1", kAna).body, HasSubstr(handle));
  EXPECT_THAT(get("/v1/leases/1", kRoot).body, HasSubstr(handle));
  const std::string beginning = "/v1/leases/" + handle.substr(0, 8);
  EXPECT_EQ(get(beginning, kBen).status, 404);
  EXPECT_EQ(get(beginning, kAna).status, 200);
  EXPECT_EQ(get(beginning, kRoot).status, 200);
  end(lease(get("/v1/leases/1")));
  EXPECT_THAT(sent_.streams[follower], AllOf(HasSubstr("ended"), Not(HasSubstr(handle))));
  EXPECT_THAT(sent_.streams[listener], AllOf(HasSubstr("ended"), Not(HasSubstr(handle))));
}

TEST_F(ServiceTest, ProcessOfAnotherUserOrOfNobodyIsNotTaken) {
  const ConnectionId run = connect(kAna);
  const LeaseView asked = lease(ask(run, "POST", "/v1/leases", request(gib(8))));
  const std::string claim = "/v1/leases/" + to_text(asked.handle) + "/claim";
  for (const Process process : {Process{201, 9}, Process{999, 9}}) {
    const http::Answer answer = ask(run, "POST", claim, wire::encode(ClaimBody{process}));
    EXPECT_EQ(answer.status, 403);
    EXPECT_EQ(code_of(answer), "wrong_process");
  }
}

TEST_F(ServiceTest, APriorityThatNobodyNamedIsTheHighestAllowed) {
  const LeaseView held = lease(post("/v1/leases", request(gib(1)), kLea));
  EXPECT_EQ(held.request.priority, Priority::kLow);
  EXPECT_EQ(post("/v1/fit", request(gib(1)), kLea).status, 200);
  const std::string named = R"({"vram_bytes":1073741824,"priority":"normal"})";
  EXPECT_EQ(code_of(post("/v1/leases", named, kLea)), "not_yours");
  EXPECT_EQ(code_of(post("/v1/fit", named, kLea)), "not_yours");
  EXPECT_EQ(lease(post("/v1/leases", request(gib(1)))).request.priority, Priority::kNormal);
}

TEST_F(ServiceTest, ATierSaysWhatTheRequestDoesNot) {
  const auto ask_as = [&](const std::string& body) {
    return lease(post("/v1/leases", body)).request;
  };
  const Request fast = ask_as(R"({"vram_bytes":1073741824,"tier":"fast"})");
  EXPECT_EQ(fast.priority, Priority::kHigh);
  EXPECT_EQ(fast.tier, "fast");
  EXPECT_FALSE(fast.may_yield);
  const Request named = ask_as(R"({"vram_bytes":1073741824,"tier":"fast","priority":"low"})");
  EXPECT_EQ(named.priority, Priority::kLow);
  EXPECT_EQ(ask_as(R"({"vram_bytes":1073741824})").priority, Priority::kNormal);
  const Request night = ask_as(R"({"vram_bytes":1073741824,"tier":"night"})");
  EXPECT_EQ(night.priority, Priority::kLow);
  EXPECT_TRUE(night.may_yield);
}

TEST_F(ServiceTest, ATierSaysHowAGpuIsSharedWhereTheRequestDoesNot) {
  const auto share_of = [&](const std::string& body) {
    return lease(post("/v1/leases", body)).request.share;
  };
  EXPECT_EQ(share_of(R"({"vram_bytes":1073741824,"tier":"turns"})"), Share::kSlice);
  EXPECT_EQ(share_of(R"({"vram_bytes":1073741824,"tier":"turns","share":"budget"})"),
            Share::kBudget);
  EXPECT_EQ(share_of(R"({"vram_bytes":1073741824,"tier":"turns","ttl_ms":60000})"), Share::kBudget)
      << "a reservation takes no turns";
  EXPECT_EQ(share_of(R"({"vram_bytes":1073741824,"tier":"whole"})"), Share::kBudget)
      << "it says how much";
  EXPECT_EQ(share_of(R"({"tier":"whole"})"), Share::kExclusive);
  EXPECT_EQ(share_of(R"({"vram_bytes":1073741824,"tier":"night"})"), Share::kBudget);
}

TEST_F(ServiceTest, ATierSetsNoPriorityAboveTheHighestAllowed) {
  const std::string fast = R"({"vram_bytes":1073741824,"tier":"fast"})";
  EXPECT_EQ(lease(post("/v1/leases", fast, kLea)).request.priority, Priority::kLow);
}

TEST_F(ServiceTest, ATierThatIsNotThereIsRefusedWithThoseThatAre) {
  const http::Answer answer = post("/v1/leases", R"({"vram_bytes":1073741824,"tier":"fats"})");
  EXPECT_EQ(code_of(answer), "invalid");
  EXPECT_THAT(answer.body,
              HasSubstr("no tier is called 'fats'; there are: fast, night, turns, whole "
                        "(a section [tier.NAME]"));
}

TEST_F(ServiceTest, OnlyItsUserOrAnAdminStopsOrReloadsTheDaemon) {
  EXPECT_EQ(code_of(post("/v1/daemon/stop", "", kBen)), "not_yours");
  EXPECT_EQ(code_of(post("/v1/daemon/reload", "", kBen)), "not_yours");
  EXPECT_EQ(code_of(post("/v1/alerts/gpu-high/test", "", kBen)), "not_yours");
  EXPECT_EQ(code_of(post("/v1/alerts/nothing/test", "", kAna)), "not_found");
  EXPECT_FALSE(host_.stopped);
  EXPECT_EQ(post("/v1/daemon/reload", "{}", kRoot).status, 200);
  EXPECT_EQ(post("/v1/daemon/stop", "{}", kAna).status, 200);
  EXPECT_TRUE(host_.stopped);
}

TEST_F(ServiceTest, WhoAsksForASyncIsAnsweredWhenTheJournalIsOnTheDisk) {
  const ConnectionId ben = connect(kBen);
  EXPECT_EQ(ask(ben, "POST", "/v1/daemon/sync").status, 0);
  syncs_.flush();
  EXPECT_EQ(sent_.last.status, 0);
  journal_.progress.done = journal_.written;
  syncs_.flush();
  EXPECT_EQ(sent_.last_connection, ben);
  EXPECT_EQ(sent_.last.status, 200);

  ++journal_.written;
  EXPECT_EQ(ask(ben, "POST", "/v1/daemon/sync").status, 0);
  journal_.progress.trouble = Error{Errc::kIo, "cannot write leases.synced.db"};
  syncs_.flush();
  EXPECT_EQ(code_of(sent_.last), "disk_full");
  EXPECT_THAT(sent_.last.body, HasSubstr("cannot write leases.synced.db"));
}

TEST_F(ServiceTest, SyncOfAConnectionThatIsGoneIsAnsweredToNobody) {
  const ConnectionId ben = connect(kBen);
  ask(ben, "POST", "/v1/daemon/sync");
  service_.closed(ben);
  journal_.progress.done = journal_.written;
  syncs_.flush();
  EXPECT_EQ(sent_.last.status, 0);
}

TEST_F(ServiceTest, RejectedConfigurationIsToldToTheUserWhoAskedForIt) {
  host_.reloads = false;
  const http::Answer answer = post("/v1/daemon/reload");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("berth.toml:3"));
}

TEST_F(ServiceTest, HelloIsCheckedAgainstVersionWorldAndKernel) {
  const ConnectionId run = connect(kAna);
  const std::string pid = std::to_string(run.value);
  const auto with = [&](std::string hello) {
    hello_ = std::move(hello);
    return ask(run, "GET", "/healthz");
  };
  EXPECT_EQ(with("api=1.0; version=0.1.0; world=real; pid=" + pid + "; start=5").status, 200);
  const http::Answer version = with("api=2.0; version=2.0.0; world=real");
  EXPECT_EQ(version.status, 426);
  EXPECT_THAT(version.body, AllOf(HasSubstr("2.0.0"), HasSubstr("0.1.0")));
  const http::Answer world = with("api=1.0; version=0.1.0; world=w1234abcd");
  EXPECT_EQ(world.status, 409);
  EXPECT_EQ(code_of(world), "wrong_world");
  // From another PID namespace one may read, but start nothing.
  EXPECT_EQ(with("api=1.0; version=0.1.0; world=real; pid=" + pid + "; start=6").status, 200);
  const http::Answer process = ask(run, "POST", "/v1/leases", request(gib(8)));
  EXPECT_EQ(process.status, 403);
  EXPECT_THAT(process.body, AllOf(HasSubstr("wrong_process"), HasSubstr("--pid=host")));
  EXPECT_EQ(with("no hello at all").status, 400);
}

// Bad input.

TEST_F(ServiceTest, UnknownRouteMethodAndFieldAreNamedWithWhatThereIs) {
  const http::Answer route = get("/v1/lease");
  EXPECT_EQ(route.status, 404);
  EXPECT_THAT(route.body, AllOf(HasSubstr("/v1/lease;"), HasSubstr("/v1/openapi.json")));
  const http::Answer method = ask(connect(kAna), "DELETE", "/v1/leases/1/release");
  EXPECT_EQ(method.status, 405);
  EXPECT_THAT(method.body, HasSubstr("POST"));
  const http::Answer field = post("/v1/leases", R"({"vram_byte":1})");
  EXPECT_EQ(field.status, 400);
  EXPECT_EQ(code_of(field), "unknown_field");
  EXPECT_THAT(field.body, HasSubstr("vram_bytes"));
}

TEST_F(ServiceTest, BodiesThatMakeNoSenseChangeNothing) {
  (void)hold(gib(8));
  trace_.clear();
  for (const auto& [target, body] : std::vector<std::pair<std::string, std::string>>{
           {"/v1/leases", "{"},
           {"/v1/leases", "[]"},
           {"/v1/leases", R"({"vram_bytes":-1})"},
           {"/v1/leases", R"({"vram_bytes":1.5})"},
           {"/v1/leases", R"({"vram_bytes":99999999999999999999})"},
           {"/v1/leases", R"({"vram_bytes":1,"eta_ms":-5})"},
           {"/v1/leases", R"({"vram_bytes":1,"device_count":0})"},
           {"/v1/leases", R"({"vram_bytes":1,"priority":"highest"})"},
           {"/v1/leases/1/release", R"({"kill":1})"},
           {"/v1/leases/1/cancel", R"({"kill":true})"},
           {"/v1/leases/1/resize", "{}"},
           {"/v1/leases/1/renew", R"({"ttl_ms":0})"},
           {"/v1/daemon/stop", R"({"now":true})"},
           {"/v1/leases/l_notahandle/claim", R"({"pid":1,"start_ticks":1})"}}) {
    const http::Answer answer = post(target, body);
    EXPECT_GE(answer.status, 400) << target << " " << body;
    EXPECT_LT(answer.status, 500) << target << " " << body;
    EXPECT_THAT(wire::decode_error(answer.body).message, Not(IsEmpty()));
  }
  EXPECT_THAT(trace_, IsEmpty());
  EXPECT_FALSE(host_.stopped);
}

TEST_F(ServiceTest, NamesAndPrefixesFindALeaseAndAmbiguousOnesSaySo) {
  for (const char* name : {"train-a", "train-b"}) {
    (void)post("/v1/leases", wire::encode(RequestBody{.request = {.name = name, .vram = gib(1)}}));
  }
  EXPECT_EQ(get("/v1/leases/train-a").status, 200);
  EXPECT_EQ(code_of(get("/v1/leases/tra")), "ambiguous");
  EXPECT_EQ(code_of(get("/v1/leases/nobody")), "not_found");
}

TEST_F(ServiceTest, RequestWithoutASizeGetsWhatThePolicySays) {
  EXPECT_EQ(lease(post("/v1/leases", "{}")).request.share, Share::kExclusive);
  service_.configure({.hello = {.world = "real"},
                      .own_user = kAna,
                      .default_vram = {.share = Share::kBudget, .vram = std::nullopt}});
  const http::Answer refused = post("/v1/leases", "{}");
  EXPECT_EQ(code_of(refused), "invalid");
  EXPECT_THAT(refused.body, HasSubstr("-m SIZE"));
  service_.configure({.hello = {.world = "real"},
                      .own_user = kAna,
                      .default_vram = {.share = Share::kBudget, .vram = gib(2)}});
  EXPECT_EQ(lease(post("/v1/leases", "{}")).request.vram, gib(2));
}

TEST_F(ServiceTest, OldHttpReadsNoStream) {
  sent_.last = {.status = 0};
  service_.requested(connect(kAna), {.method = "GET", .target = "/v1/events", .chunks = false});
  EXPECT_EQ(sent_.last.status, 400);
}

}  // namespace
}  // namespace berth::server
