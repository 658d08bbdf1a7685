// SPDX-License-Identifier: Apache-2.0
// Answers about room without a driver, and estimates as C programs get them. tests/python has the
// room of a simulated device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "berth/berth.h"
#include "berth/estimate.h"

namespace berth::library {
namespace {

using ::testing::HasSubstr;

TEST(RoomCalls, WithoutADriverItIsUnknown) {
  const berth_session_options options = {
      .size = sizeof options, .flags = BERTH_QUIET, .say = nullptr, .user = nullptr};
  berth_session session = 0;
  ASSERT_EQ(berth_attach(&options, &session), BERTH_OK);
  berth_session_facts facts = {.size = sizeof facts};
  ASSERT_EQ(berth_session_describe(session, &facts), BERTH_OK);
  if ((facts.flags & BERTH_HAS_DRIVER) != 0) GTEST_SKIP() << "a driver is here";
  berth_room room = {.size = sizeof room, .answer = BERTH_ROOM_YES};
  EXPECT_EQ(berth_has_room(session, 0, 1, 0, &room), BERTH_OK) << berth_last_error();
  EXPECT_EQ(room.answer, std::uint32_t{BERTH_ROOM_UNKNOWN});
  EXPECT_EQ(room.device_free.source, std::uint32_t{BERTH_UNKNOWN});
  EXPECT_EQ(berth_has_room(session, 0, 1, 0, nullptr), BERTH_INVALID);
  EXPECT_EQ(berth_detach(session), BERTH_OK);
  EXPECT_EQ(berth_has_room(session, 0, 1, 0, &room), BERTH_STALE);
}

// The table in docs/estimate.md has the row.
TEST(RoomCalls, AConfigIsEstimatedAsTheCommandDoes) {
  const char* config =
      R"({"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12,
          "n_positions": 1024, "vocab_size": 50257})";
  const berth_training training = {
      .size = sizeof training, .batch = 4, .sequence = 256, .room_bytes = std::uint64_t{8} << 30U};
  berth_estimate found = {.size = sizeof found};
  ASSERT_EQ(berth_estimate_training(config, 0, &training, &found), BERTH_OK) << berth_last_error();
  EXPECT_EQ(found.layers_known, 1U);
  EXPECT_EQ(found.parameters, 124'439'808U);
  EXPECT_EQ(found.weights_bytes, found.parameters * 4);
  EXPECT_NEAR(static_cast<double>(found.activations_bytes) / (1U << 20U), 922.5, 0.1);
  EXPECT_EQ(found.activations_bytes, found.norms_bytes + found.attention_bytes +
                                         found.feed_forward_bytes + found.output_bytes +
                                         found.half_copies_bytes);
  // One more does not fit.
  berth_training larger = training;
  larger.batch = found.largest_batch + 1;
  berth_estimate more = {.size = sizeof more};
  ASSERT_EQ(berth_estimate_training(config, 0, &larger, &more), BERTH_OK);
  EXPECT_GT(more.peak_bytes, training.room_bytes);
  larger.batch = found.largest_batch;
  ASSERT_EQ(berth_estimate_training(config, 0, &larger, &more), BERTH_OK);
  EXPECT_LE(more.peak_bytes, training.room_bytes);
}

TEST(RoomCalls, OfParametersAloneTheStatesAreKnown) {
  const berth_training training = {.size = sizeof training, .precision = "bf16"};
  berth_estimate found = {.size = sizeof found};
  ASSERT_EQ(berth_estimate_training(nullptr, 1'000, &training, &found), BERTH_OK);
  EXPECT_EQ(found.layers_known, 0U);
  EXPECT_EQ(found.weights_bytes, 2'000U);
}

TEST(RoomCalls, WhatMakesNoSenseIsNamed) {
  berth_estimate found = {.size = sizeof found};
  EXPECT_EQ(berth_estimate_training(nullptr, 0, nullptr, &found), BERTH_INVALID);
  EXPECT_EQ(berth_estimate_training("{}", 0, nullptr, &found), BERTH_INVALID);
  EXPECT_EQ(berth_estimate_training(nullptr, 1, nullptr, nullptr), BERTH_INVALID);
  const berth_training endless = {.size = sizeof endless, .sequence = ~std::uint64_t{0}};
  EXPECT_EQ(berth_estimate_training(nullptr, 1, &endless, &found), BERTH_INVALID);
  EXPECT_THAT(berth_last_error(), HasSubstr("16777216 tokens"));
  const berth_training training = {.size = sizeof training, .optimizer = "guess"};
  EXPECT_EQ(berth_estimate_training(nullptr, 1, &training, &found), BERTH_INVALID);
  EXPECT_THAT(berth_last_error(), HasSubstr("optimizer"));
  EXPECT_THAT(berth_last_error(), HasSubstr("guess"));
}

}  // namespace
}  // namespace berth::library
