// SPDX-License-Identifier: Apache-2.0
#include "wire/door.h"

#include <gtest/gtest.h>

#include <string>

namespace berth::wire {
namespace {

const Door kDoor = {.port = 7070, .token = "secret"};

DoorRequest request(std::string_view path = "/v1/status") {
  return {.method = "GET",
          .path = path,
          .host = "127.0.0.1:7070",
          .origin = {},
          .authorization = "Bearer secret",
          .cookie = {},
          .content_type = {}};
}
int status(const DoorRequest& of, const Door& door = kDoor) {
  const auto refused = refused_at(door, of);
  return refused ? refused->status : 200;
}

TEST(Door, LetsInWhoHasTheToken) {
  EXPECT_EQ(status(request()), 200);
  DoorRequest one = request();
  for (const char* said : {"bearer secret", "BEARER  secret ", "Bearer secret"}) {
    one.authorization = said;
    EXPECT_EQ(status(one), 200) << said;
  }
  for (const char* said : {"", "secret", "Bearer", "Bearer ", "Bearer secre", "Bearer secret2",
                           "Bearer secretsecret", "Basic secret", "Bearer SECRET"}) {
    one.authorization = said;
    EXPECT_EQ(status(one), 401) << said;
  }
  one.authorization.reset();
  EXPECT_EQ(status(one), 401);
}

TEST(Door, TheCookieOfABrowserIsNoToken) {
  DoorRequest one = request();
  one.authorization.reset();
  one.cookie = "berth=secret";
  one.key = "secret";
  EXPECT_EQ(status(one), 401);
}

TEST(Door, FindsACookieThatIsThereOnce) {
  for (const char* said : {"berth=baked", "a=b; berth=baked", "berth=baked;c=d", " berth=baked "}) {
    EXPECT_EQ(cookie_in(said, "berth"), "baked") << said;
  }
  for (const char* said :
       {"", "xberth=baked", "berth=baked; berth=baked", "Berth=baked", "berth", ";;="}) {
    EXPECT_EQ(cookie_in(said, "berth"), std::nullopt) << said;
  }
  EXPECT_EQ(cookie_in("berth=", "berth"), "");
}

TEST(Door, NamesOfThisMachineAloneAreItsHost) {
  DoorRequest one = request();
  for (const char* host : {"127.0.0.1:7070", "localhost:7070", "[::1]:7070", "LocalHost:7070"}) {
    one.host = host;
    EXPECT_EQ(status(one), 200) << host;
  }
  for (const char* host : {"", "127.0.0.1", "127.0.0.1:7071", "localhost", "evil.example:7070",
                           "127.0.0.1.evil.example:7070", "127.0.0.1:7070:7070", "[::1]",
                           "localhost:70700", "0.0.0.0:7070", "127.0.0.1:7070 "}) {
    one.host = host;
    EXPECT_EQ(status(one), 403) << host;
  }
  one.host.reset();
  EXPECT_EQ(status(one), 403);
}

TEST(Door, OriginsOfOthersAreRefusedEvenWithTheToken) {
  DoorRequest one = request();
  for (const char* origin :
       {"http://127.0.0.1:7070", "http://localhost:7070", "HTTP://[::1]:7070"}) {
    one.origin = origin;
    EXPECT_EQ(status(one), 200) << origin;
  }
  for (const char* origin :
       {"", "null", "http://evil.example", "https://localhost:7070", "http://localhost",
        "http://localhost:7070.evil.example", "http://localhost:7070/", "http:/localhost:7070"}) {
    one.origin = origin;
    EXPECT_EQ(status(one), 403) << origin;
  }
}

TEST(Door, ABodyIsOneThatNoFormCanSend) {
  DoorRequest one = request();
  one.method = "POST";
  one.has_body = true;
  for (const char* type : {"application/json", "Application/JSON; charset=utf-8"}) {
    one.content_type = type;
    EXPECT_EQ(status(one), 200) << type;
  }
  for (const char* type : {"", "text/plain", "application/x-www-form-urlencoded",
                           "text/plain; application/json", "application/jsonx"}) {
    one.content_type = type;
    EXPECT_EQ(status(one), 415) << type;
  }
  one.content_type.reset();
  EXPECT_EQ(status(one), 415);
}

TEST(Door, HealthIsToldToAllAndMetricsWhereThatIsConfigured) {
  DoorRequest one = request("/healthz");
  one.authorization.reset();
  EXPECT_EQ(status(one), 200);
  one.host = "evil.example";
  EXPECT_EQ(status(one), 403);
  DoorRequest metrics = request("/metrics");
  metrics.authorization.reset();
  EXPECT_EQ(status(metrics), 401);
  Door open = kDoor;
  open.open_metrics = true;
  EXPECT_EQ(status(metrics, open), 200);
  metrics.method = "POST";
  EXPECT_EQ(status(metrics, open), 401);
  for (const char* path : {"/healthz/", "/healthzx", "/", "/v1/healthz"}) {
    DoorRequest other = request(path);
    other.authorization.reset();
    EXPECT_EQ(status(other), 401) << path;
  }
}

TEST(Door, NothingIsTheSecretThatIsNotThere) {
  EXPECT_FALSE(is_same_secret("", ""));
  EXPECT_FALSE(is_same_secret("x", ""));
  EXPECT_FALSE(is_same_secret("", "x"));
  EXPECT_TRUE(is_same_secret("x", "x"));
}

}  // namespace
}  // namespace berth::wire
