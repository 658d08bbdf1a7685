// SPDX-License-Identifier: Apache-2.0
#include "wire/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <variant>

#include "wire/limits.h"
#include "wire/url.h"

namespace berth::wire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

ApiError refused(std::string_view method, std::string_view target) {
  const auto match = match_route(method, target);
  const ApiError* error = std::get_if<ApiError>(&match);
  return error != nullptr ? *error : ApiError{"matched", ""};
}

TEST(Routes, EachIsReachedByItsOwnTarget) {
  std::set<Route> met;
  for (const RouteRow& row : kRoutes) {
    const bool has_lease = row.path.find('{') != std::string_view::npos;
    const std::string lease = has_lease ? "a/b c?%&=ü" : "";
    const auto match = match_route(to_text(row.method), target_of(row.route, lease));
    const RouteMatch* found = std::get_if<RouteMatch>(&match);
    ASSERT_NE(found, nullptr) << row.path;
    EXPECT_EQ(found->route, row.route) << row.path;
    EXPECT_EQ(found->lease, lease) << row.path;
    met.insert(row.route);
  }
  EXPECT_EQ(met.size(), kRoutes.size());
}

TEST(Routes, WhatIsNotThereIsNotFound) {
  for (const std::string_view target : {"/", "/v1", "/v2/status", "/v1/leases/7/dance",
                                        "/V1/status", "/v1/leases/7/why/not", "/v1/daemon/start"}) {
    EXPECT_EQ(refused("GET", target).code, "not_found") << target;
  }
  EXPECT_THAT(refused("GET", "/v1/jobs?x=1").message, HasSubstr("there is nothing at /v1/jobs;"));
}

TEST(Routes, OtherMethodIsNotAllowedAndNamesTheRightOne) {
  EXPECT_EQ(refused("POST", "/v1/status").code, "method_not_allowed");
  EXPECT_THAT(refused("POST", "/v1/status").message, HasSubstr("GET"));
  EXPECT_THAT(refused("GET", "/v1/leases/7/release").message, HasSubstr("POST"));
  EXPECT_EQ(refused("DELETE", "/v1/leases").code, "method_not_allowed");
  EXPECT_EQ(refused("get", "/v1/leases").code, "method_not_allowed");
}

TEST(Routes, TargetThatMakesNoSenseIsRefused) {
  for (const std::string_view target :
       {"", "v1/status", "*", "http://host/v1/status", "//v1/status", "/v1//status", "/v1/status/",
        "/v1/leases/%", "/v1/leases/%4", "/v1/leases/%zz", "/v1/leases/%00", "/v1/leases/a%00",
        "/v1/leases/a b", "/v1/leases/\x01", "/v1/leases/\xC3\xBC", "/v1/leases?=1",
        "/v1/leases?all=%f"}) {
    EXPECT_EQ(refused("GET", target).code, "bad_request") << target;
  }
  EXPECT_EQ(refused("GET", "/v1/leases/" + std::string(limits::kTargetMax, 'x')).code, "too_large");
}

TEST(Routes, EndedLeasesAreAskedForByAll) {
  const auto all = [](std::string_view target) {
    const auto match = match_route("GET", target);
    const RouteMatch* found = std::get_if<RouteMatch>(&match);
    return found != nullptr && found->all;
  };
  EXPECT_TRUE(all("/v1/leases?all=1"));
  EXPECT_TRUE(all("/v1/leases?all=true"));
  EXPECT_FALSE(all("/v1/leases?all=0"));
  EXPECT_FALSE(all("/v1/leases?"));
  EXPECT_FALSE(all("/v1/leases"));
  EXPECT_EQ(refused("GET", "/v1/leases?all=yes").code, "bad_request");
  EXPECT_EQ(refused("GET", "/v1/leases?al=1").code, "unknown_field");
  EXPECT_EQ(refused("GET", "/v1/status?all=1").code, "unknown_field");
}

TEST(Routes, LeasesAreAskedForPageByPage) {
  const auto match = match_route("GET", "/v1/leases?all=1&limit=250&before=4711");
  const RouteMatch* found = std::get_if<RouteMatch>(&match);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->limit, 250U);
  EXPECT_EQ(found->before, 4'711U);
  for (const std::string_view query :
       {"limit=0", "limit=251", "limit=", "limit=-1", "limit=x", "before=", "before=-1",
        "before=99999999999999999999", "before=train"}) {
    EXPECT_EQ(refused("GET", "/v1/leases?" + std::string(query)).code, "bad_request") << query;
  }
  EXPECT_EQ(refused("GET", "/v1/queue?limit=1").code, "unknown_field");
}

TEST(Routes, ParameterThatIsGivenTwiceIsRefused) {
  for (const std::string_view target :
       {"/v1/history?since=1&since=2", "/v1/history/sessions?lease=1&until=2&lease=1",
        "/v1/leases?all=1&all=1"}) {
    const ApiError error = refused("GET", target);
    EXPECT_EQ(error.code, "bad_request") << target;
    EXPECT_THAT(error.message, ::testing::HasSubstr("is given twice")) << target;
  }
}

TEST(Url, EscapesComeAndGo) {
  std::string every;
  for (int c = 1; c < 256; ++c) every += static_cast<char>(c);
  EXPECT_EQ(percent_decode(percent_encode(every)), every);
  EXPECT_EQ(percent_encode("a/b"), "a%2Fb");
  EXPECT_EQ(percent_decode("a%2fb"), "a/b");
  EXPECT_EQ(percent_decode("%+1"), std::nullopt);
}

TEST(Url, IsTakenApart) {
  const Result<Target> target = parse_target("/a/b%20c?x=1&y&z=%3D%26");
  ASSERT_TRUE(target.ok()) << target.error().message;
  EXPECT_THAT(target->segments, ElementsAre("a", "b c"));
  EXPECT_THAT(target->query, ElementsAre(Pair("x", "1"), Pair("y", ""), Pair("z", "=&")));
}

}  // namespace
}  // namespace berth::wire
