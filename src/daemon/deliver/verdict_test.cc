// SPDX-License-Identifier: Apache-2.0
#include "deliver/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::deliver {
namespace {

using testing::HasSubstr;
using Outcome = wire::DeliveryOutcome::Kind;

TEST(Verdict, FollowsTheStatus) {
  for (const std::uint32_t status : {200U, 201U, 202U, 204U, 299U}) {
    EXPECT_EQ(judge("h", {.status = status}).kind, Outcome::kDelivered) << status;
  }
  for (const std::uint32_t status : {408U, 425U, 429U, 500U, 502U, 503U, 504U, 599U}) {
    EXPECT_EQ(judge("h", {.status = status}).kind, Outcome::kRetry) << status;
  }
  for (const std::uint32_t status : {300U, 301U, 302U, 307U, 308U, 400U, 401U, 403U, 404U, 410U}) {
    EXPECT_EQ(judge("h", {.status = status}).kind, Outcome::kRefused) << status;
  }
  const auto answer = judge("hooks.example.org", {.status = 404});
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.reason, "hooks.example.org answered 404");
}

TEST(Verdict, ARedirectIsToldApart) {
  EXPECT_THAT(judge("h", {.status = 302}).reason, HasSubstr("redirect"));
}

TEST(Verdict, APauseIsPassedOnWithinADay) {
  EXPECT_EQ(judge("h", {.status = 429, .retry_after = seconds(7)}).retry_after, seconds(7));
  EXPECT_EQ(judge("h", {.status = 503, .retry_after = hours(99)}).retry_after, hours(24));
  EXPECT_EQ(judge("h", {.status = 503}).retry_after, std::nullopt);
  EXPECT_EQ(judge("h", {.status = 404, .retry_after = seconds(7)}).retry_after, std::nullopt);
}

}  // namespace
}  // namespace berth::deliver
