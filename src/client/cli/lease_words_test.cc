// SPDX-License-Identifier: Apache-2.0
#include "cli/lease_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr UserId kMe = {1000};

LeaseView lease(std::uint64_t id, UserId user, LeaseState state,
                std::optional<EndResult> result = std::nullopt) {
  LeaseView view{.id = {id}, .user = user, .state = state};
  view.result = result;
  return view;
}

std::vector<LeaseView> some_leases() {
  return {lease(2, kMe, LeaseState::kEnded, EndResult::kDetached),
          lease(3, kMe, LeaseState::kEnded, EndResult::kFailed),
          lease(4, kMe, LeaseState::kEnded, EndResult::kOk),
          lease(5, {1001}, LeaseState::kEnded, EndResult::kKilled),
          lease(6, kMe, LeaseState::kEnded, EndResult::kCancelled),
          lease(9, kMe, LeaseState::kWaiting),
          lease(7, kMe, LeaseState::kHeld),
          lease(12, {1001}, LeaseState::kHeld),
          lease(10, kMe, LeaseState::kEnded, EndResult::kLost)};
}

std::vector<std::uint64_t> ids_meant_by(std::string_view word) {
  std::vector<std::uint64_t> ids;
  const auto parsed = parse_lease_word(word);
  if (!parsed.ok()) return ids;
  for (const LeaseView& view : chosen(*parsed, some_leases(), kMe)) ids.push_back(view.id.value);
  return ids;
}

TEST(LeaseWords, ARangeMeansAllLeasesInIt) {
  EXPECT_THAT(ids_meant_by("5..9"), ElementsAre(5, 6, 7, 9));
  EXPECT_THAT(ids_meant_by("7..7"), ElementsAre(7));
}

TEST(LeaseWords, LastIsTheNewestOfOnesOwn) {
  EXPECT_THAT(ids_meant_by("@last"), ElementsAre(10));
}

TEST(LeaseWords, MineAreOnesOwnThatHaveNotEnded) {
  EXPECT_THAT(ids_meant_by("@mine"), ElementsAre(7, 9));
}

TEST(LeaseWords, FailedAreOnesOwnThatEndedOtherThanWell) {
  EXPECT_THAT(ids_meant_by("@failed"), ElementsAre(3, 10));
}

TEST(LeaseWords, AllElseIsForTheDaemonToKnow) {
  for (const std::string_view word : {"7", "train-gpt2", "l_abcdefgh", "0x7"}) {
    const auto parsed = parse_lease_word(word);
    ASSERT_TRUE(parsed.ok());
    const auto* reference = std::get_if<LeaseReference>(&*parsed);
    ASSERT_NE(reference, nullptr);
    EXPECT_EQ(reference->text, word);
  }
}

TEST(LeaseWords, WhatCannotBeMeantIsSaid) {
  const auto error_of = [](std::string_view word) {
    const auto parsed = parse_lease_word(word);
    return parsed.ok() ? std::string() : parsed.error().message;
  };
  EXPECT_THAT(error_of("@fialed"), HasSubstr("did you mean @failed?"));
  EXPECT_THAT(error_of("7..3"), HasSubstr("as in 3..7"));
  EXPECT_THAT(error_of("3..x"), HasSubstr("as in 3..7"));
  EXPECT_THAT(error_of("99999999999999999999..1"), HasSubstr("no range"));
  EXPECT_THAT(error_of(""), HasSubstr("empty"));
}

TEST(LeaseWords, LeaseWithoutAToldHandleIsFoundByItsNumber) {
  EXPECT_EQ(reference_to({.id = {12}}), "12");
  EXPECT_EQ(reference_to({.id = {12}, .handle = {0, 1}}), to_text(Handle{0, 1}));
}

}  // namespace
}  // namespace berth::cli
