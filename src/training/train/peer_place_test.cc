// SPDX-License-Identifier: Apache-2.0
#include "train/peer_place.h"

#include <gtest/gtest.h>

#include <map>

namespace berth::train {
namespace {

using Environment = std::map<std::string, std::string, std::less<>>;

Result<std::optional<PeerPlace>> place_in(const Environment& environment) {
  return peer_place([&](std::string_view name) -> std::optional<std::string> {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string problem_in(const Environment& environment) {
  const auto place = place_in(environment);
  return place.ok() ? "" : place.error().message;
}

TEST(PeerPlace, WithoutAnyVariableAProcessTrainsAlone) {
  const auto place = place_in({});
  ASSERT_TRUE(place.ok());
  EXPECT_FALSE(*place);
}

TEST(PeerPlace, TorchrunsVariablesAreTaken) {
  const auto place = place_in(
      {{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "node-1"}, {"MASTER_PORT", "12345"}});
  ASSERT_TRUE(place.ok() && *place);
  EXPECT_EQ((*place)->rank, 2U);
  EXPECT_EQ((*place)->size, 4U);
  EXPECT_EQ((*place)->address, "node-1");
  EXPECT_EQ((*place)->port, 12345);
}

TEST(PeerPlace, ThePortIsPyTorchsWhereNoneIsSet) {
  const auto place = place_in({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "localhost"}});
  ASSERT_TRUE(place.ok() && *place);
  EXPECT_EQ((*place)->port, 29500);
}

TEST(PeerPlace, OneOfOneTrainsAlone) {
  const auto place = place_in({{"RANK", "0"}, {"WORLD_SIZE", "1"}});
  ASSERT_TRUE(place.ok());
  EXPECT_FALSE(*place);
}

TEST(PeerPlace, SrunsNumbersCountWhereAnAddressGoesWithThem) {
  const Environment srun = {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}};
  const auto alone = place_in(srun);
  ASSERT_TRUE(alone.ok());
  EXPECT_FALSE(*alone);
  Environment told = srun;
  told["MASTER_ADDR"] = "node-1";
  const auto place = place_in(told);
  ASSERT_TRUE(place.ok() && *place);
  EXPECT_EQ((*place)->rank, 1U);
  EXPECT_EQ((*place)->size, 2U);
}

TEST(PeerPlace, TorchrunsNumbersGoBeforeSruns) {
  const auto place = place_in({{"RANK", "1"},
                               {"WORLD_SIZE", "2"},
                               {"SLURM_PROCID", "5"},
                               {"SLURM_NTASKS", "8"},
                               {"MASTER_ADDR", "node-1"}});
  ASSERT_TRUE(place.ok() && *place);
  EXPECT_EQ((*place)->rank, 1U);
}

TEST(PeerPlace, WhatIsWrongIsNamed) {
  EXPECT_EQ(problem_in({{"RANK", "0"}, {"MASTER_ADDR", "a"}}), "WORLD_SIZE is not set");
  EXPECT_EQ(problem_in({{"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}), "RANK is not set");
  EXPECT_EQ(problem_in({{"RANK", "x"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}),
            "RANK is 'x', and not a number from 0 to 2147483647");
  EXPECT_EQ(problem_in({{"RANK", "2"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}),
            "RANK is 2, but WORLD_SIZE is 2: ranks count from 0");
  EXPECT_EQ(problem_in({{"RANK", "0"}, {"WORLD_SIZE", "0"}, {"MASTER_ADDR", "a"}}),
            "RANK is 0, but WORLD_SIZE is 0: ranks count from 0");
  EXPECT_EQ(problem_in({{"RANK", "1"}, {"WORLD_SIZE", "2"}}),
            "WORLD_SIZE is 2, but MASTER_ADDR is not set: it says where rank 0 is");
  const Environment two = {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}};
  Environment far = two;
  far["MASTER_PORT"] = "70000";
  EXPECT_EQ(problem_in(far), "MASTER_PORT is '70000', and not a number from 0 to 65535");
  far["MASTER_PORT"] = "0";
  EXPECT_EQ(problem_in(far), "MASTER_PORT is 0: name the port of rank 0");
}

TEST(PeerPlace, RowsAreDealtOutEvenlyOrNotAtAll) {
  const PeerPlace place{.rank = 0, .size = 3, .address = "a", .port = 1};
  EXPECT_TRUE(check_rows(place, 6).ok());
  const Status uneven = check_rows(place, 8);
  ASSERT_FALSE(uneven.ok());
  EXPECT_EQ(uneven.error().message, "data.rows: 8 rows cannot be dealt out evenly to 3 processes");
}

}  // namespace
}  // namespace berth::train
