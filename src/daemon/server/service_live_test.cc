// SPDX-License-Identifier: Apache-2.0
// GET /v1/live: what pages hear.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "server/service_story_for_test.h"
#include "wire/live.h"

namespace berth::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Heard {
  std::string event;
  std::string data;
};

class ServiceLiveTest : public ServiceTest {
 protected:
  ConnectionId look(UserId user = kAna) {
    const ConnectionId connection = connect(user);
    (void)ask(connection, "GET", "/v1/live", "", true);
    return connection;
  }
  /// Since it was asked last.
  std::vector<Heard> heard(ConnectionId connection) {
    std::vector<Heard> events;
    std::string text = std::exchange(sent_.streams[connection], "");
    for (std::size_t end = text.find("\n\n"); end != std::string::npos; end = text.find("\n\n")) {
      const std::string event = text.substr(0, end);
      text.erase(0, end + 2);
      constexpr std::string_view kEvent = "event: ";
      constexpr std::string_view kData = "\ndata: ";
      const std::size_t data = event.find(kData);
      EXPECT_TRUE(event.starts_with(kEvent)) << event;
      events.push_back(
          {event.substr(kEvent.size(), data - kEvent.size()), event.substr(data + kData.size())});
    }
    return events;
  }
  static std::vector<std::string> names(const std::vector<Heard>& events) {
    std::vector<std::string> found;
    found.reserve(events.size());
    for (const Heard& one : events) found.push_back(one.event);
    return found;
  }
  /// The only event since then.
  wire::LiveSnapshot snapshot(ConnectionId connection) {
    const std::vector<Heard> events = heard(connection);
    EXPECT_THAT(names(events), ElementsAre("snapshot"));
    auto read = wire::decode_live_snapshot(events.empty() ? "" : events.front().data);
    EXPECT_TRUE(read.ok());
    return read.ok() ? std::move(read->snapshot) : wire::LiveSnapshot{};
  }
  wire::LiveChange change(ConnectionId connection) {
    const std::vector<Heard> events = heard(connection);
    EXPECT_THAT(names(events), ElementsAre("change"));
    auto read = wire::decode_live_change(events.empty() ? "" : events.front().data);
    EXPECT_TRUE(read.ok());
    return read.ok() ? std::move(read->change) : wire::LiveChange{};
  }
  void pass(Duration time) {
    clock_.at = clock_.at + time;
    service_.on_timer();
  }
  static std::vector<LeaseId> ids(const std::vector<LeaseView>& leases) {
    std::vector<LeaseId> found;
    found.reserve(leases.size());
    for (const LeaseView& lease : leases) found.push_back(lease.id);
    return found;
  }
};

TEST_F(ServiceLiveTest, FirstComesAllThatIsKnown) {
  const LeaseView held = hold(gib(4));
  const LeaseView waits = lease(ask(connect(kAna), "POST", "/v1/leases", request(gib(14))));
  const wire::LiveSnapshot all = snapshot(look());
  EXPECT_EQ(all.host, "workbench");
  EXPECT_EQ(all.viewer.user, kAna);
  EXPECT_TRUE(all.viewer.may_act);
  EXPECT_FALSE(all.viewer.admin);
  EXPECT_EQ(all.status.devices.size(), 1U);
  EXPECT_THAT(ids(all.status.leases), ElementsAre(held.id));
  EXPECT_THAT(ids(all.status.queue), ElementsAre(waits.id));
  EXPECT_FALSE(all.epoch.empty());
  EXPECT_TRUE(snapshot(look(kRoot)).viewer.admin);
}

TEST_F(ServiceLiveTest, OnlyWhatIsDifferentFollows) {
  (void)hold(gib(1));
  const ConnectionId page = look();
  const wire::LiveSnapshot first = snapshot(page);
  const LeaseView held = hold(gib(4));
  pass(seconds(1));
  const wire::LiveChange news = change(page);
  EXPECT_EQ(news.sequence, first.sequence + 1);
  EXPECT_THAT(ids(checked(news.leases)), ElementsAre(held.id));
  EXPECT_EQ(checked(news.devices).size(), 1U) << "it has less to grant";
  EXPECT_FALSE(news.gone || news.queue || news.alerts || news.trouble);
}

TEST_F(ServiceLiveTest, NothingIsSaidOfNothingUntilAHeartbeat) {
  const ConnectionId page = look();
  (void)heard(page);
  for (int i = 0; i < 9; ++i) pass(seconds(1));
  EXPECT_THAT(heard(page), IsEmpty());
  pass(seconds(1));
  const std::vector<Heard> events = heard(page);
  ASSERT_THAT(names(events), ElementsAre("heartbeat"));
  EXPECT_EQ(events.front().data, R"({"time":"2023-11-14T22:13:20.000Z"})");
}

TEST_F(ServiceLiveTest, ThatTimeGoesOnIsNoDifference) {
  (void)hold(gib(15));
  (void)ask(connect(kAna), "POST", "/v1/leases", request(gib(8)));
  const ConnectionId page = look();
  pass(seconds(1));
  (void)heard(page);
  pass(seconds(5));  // A sample is older by now, a request has waited longer.
  EXPECT_THAT(heard(page), IsEmpty());
}

TEST_F(ServiceLiveTest, ARequestThatIsWithdrawnLeavesTheQueueAndSaysHow) {
  (void)hold(gib(15));
  const ConnectionId client = connect(kAna);
  const LeaseView asked = lease(ask(client, "POST", "/v1/leases", request(gib(8))));
  const ConnectionId page = look();
  EXPECT_THAT(ids(snapshot(page).status.queue), ElementsAre(asked.id));
  service_.closed(client);
  pass(seconds(1));
  const wire::LiveChange news = change(page);
  EXPECT_THAT(checked(news.queue), IsEmpty());
  EXPECT_THAT(checked(news.gone), ElementsAre(asked.id));
  ASSERT_THAT(ids(checked(news.leases)), ElementsAre(asked.id));
  EXPECT_EQ(checked(news.leases).front().state, LeaseState::kEnded);
  EXPECT_EQ(checked(news.leases).front().result, EndResult::kCancelled);
}

TEST_F(ServiceLiveTest, PagesOfAUserAreToldTheSameAndAnothersTheirs) {
  const ConnectionId one = look();
  const ConnectionId two = look();
  const ConnectionId bens = look(kBen);
  for (const ConnectionId page : {one, two, bens}) (void)heard(page);
  (void)hold(gib(4));
  pass(seconds(1));
  EXPECT_FALSE(sent_.streams[one].empty());
  EXPECT_EQ(sent_.streams[one], sent_.streams[two]);
  for (const char* secret : {"python train.py", "\"handle\":\"l_"}) {
    EXPECT_NE(sent_.streams[one].find(secret), std::string::npos) << secret;
    EXPECT_EQ(sent_.streams[bens].find(secret), std::string::npos) << secret;
  }
  const wire::LiveChange seen = change(bens);
  EXPECT_EQ(checked(seen.leases).size(), 1U);
}

TEST_F(ServiceLiveTest, APageThatComesLaterGoesOnWithTheOthers) {
  const ConnectionId one = look();
  const std::uint64_t first = snapshot(one).sequence;
  (void)hold(gib(4));
  const ConnectionId two = look();
  EXPECT_EQ(change(one).sequence, first + 1) << "before the other's snapshot";
  EXPECT_EQ(snapshot(two).sequence, first + 1);
  const LeaseView held = hold(gib(2));
  pass(seconds(1));
  EXPECT_EQ(change(one).sequence, first + 2);
  const wire::LiveChange news = change(two);
  EXPECT_EQ(news.sequence, first + 2);
  EXPECT_THAT(ids(checked(news.leases)), ElementsAre(held.id));
}

TEST_F(ServiceLiveTest, OneThatDoesNotReadIsToldAllAnewWhenItDoes) {
  const ConnectionId slow = look();
  const ConnectionId page = look();
  (void)heard(slow);
  (void)heard(page);
  sent_.full.insert(slow);
  for (int i = 0; i < 3; ++i) {
    (void)hold(gib(1));
    pass(seconds(1));
  }
  EXPECT_THAT(heard(slow), IsEmpty()) << "nothing is piled up for it";
  EXPECT_EQ(heard(page).size(), 3U);
  sent_.full.clear();
  (void)hold(gib(1));
  pass(seconds(1));
  const wire::LiveSnapshot anew = snapshot(slow);
  EXPECT_EQ(anew.sequence, change(page).sequence);
  EXPECT_EQ(anew.status.leases.size(), 4U);
}

TEST_F(ServiceLiveTest, OneThatWasLeftOutIsToldAllAnewAtTheNextHeartbeat) {
  const ConnectionId slow = look();
  (void)heard(slow);
  sent_.full.insert(slow);
  (void)hold(gib(1));
  pass(seconds(1));
  sent_.full.clear();
  pass(seconds(10));
  EXPECT_EQ(snapshot(slow).status.leases.size(), 1U);
}

TEST_F(ServiceLiveTest, WhatWasDoneIsToldTheYoungestFirst) {
  const ConnectionId page = look();
  (void)heard(page);
  constexpr std::uint64_t kMany = LiveStreams::kEventsKept + 5;
  for (std::uint64_t i = 1; i <= kMany; ++i) {
    service_.live().happened({.verb = Verb::kRenew, .lease = LeaseId{i}});
  }
  pass(seconds(1));
  const wire::LiveChange news = change(page);
  const std::vector<AuditEntry>& events = checked(news.events);
  ASSERT_EQ(events.size(), LiveStreams::kEventsKept);
  EXPECT_EQ(events[0].lease, LeaseId{kMany});
  EXPECT_EQ(events[1].lease, LeaseId{kMany - 1});
  const ConnectionId later = look();
  EXPECT_EQ(snapshot(later).events.size(), LiveStreams::kEventsKept);
  service_.live().happened({.verb = Verb::kRenew, .lease = LeaseId{999}});
  pass(seconds(1));
  const wire::LiveChange last = change(later);
  EXPECT_EQ(checked(last.events).size(), 1U);
}

TEST_F(ServiceLiveTest, ItWakesOnceASecondWhileSomebodyLooks) {
  EXPECT_EQ(service_.next_wake(), Instant::never());
  const ConnectionId page = look();
  EXPECT_EQ(service_.next_wake(), clock_.at + seconds(1));
  pass(milliseconds(500));
  EXPECT_EQ(service_.next_wake(), clock_.at + milliseconds(500));
  pass(milliseconds(500));
  EXPECT_EQ(service_.next_wake(), clock_.at + seconds(1));
  service_.closed(page);
  EXPECT_EQ(service_.next_wake(), Instant::never());
}

TEST_F(ServiceLiveTest, StreamsOfAUserAreBounded) {
  (void)look();
  const ConnectionId second = look();
  EXPECT_EQ(code_of(ask(connect(kAna), "GET", "/v1/live", "", true)), "too_many");
  service_.closed(second);
  EXPECT_EQ(ask(connect(kAna), "GET", "/v1/live", "", true).status, 0) << "it is a stream";
}

}  // namespace
}  // namespace berth::server
