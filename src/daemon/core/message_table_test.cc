// SPDX-License-Identifier: Apache-2.0
#include "core/message_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace berth::core {
namespace {

struct Told {
  MessageTable table;
  std::uint64_t number = 0;

  bool send(UserId from = {1000}) {
    const MessageSent fact{.id = {1}, .number = table.next_number(), .from = from, .text = "a"};
    number = fact.number;
    return table.take(fact, at());
  }
  bool answer(std::uint64_t which, std::optional<UserId> by = UserId{1}) {
    const MessageAnswered fact{
        .id = {1}, .number = which, .answer = MessageAnswer::kRefused, .by = by};
    return table.take(fact, at());
  }
  Record at() {
    ++seconds_;
    return {
        .sequence = 1, .at = Instant{} + seconds(seconds_), .wall = {seconds_ * 1'000}, .fact = {}};
  }

 private:
  std::int64_t seconds_ = 0;
};

TEST(MessageTable, TakesEachNumberAndEachAnswerOnce) {
  Told told;
  EXPECT_TRUE(told.send());
  EXPECT_FALSE(told.table.take(MessageSent{.id = {1}, .number = 1, .text = "b"}, told.at()));
  EXPECT_TRUE(told.answer(1));
  EXPECT_FALSE(told.answer(1));
  EXPECT_FALSE(told.answer(2));
}

TEST(MessageTable, ForgetsTheOldestThatIsAnsweredAndNeitherOpenOnesNorTheLastByARule) {
  Told told;
  (void)told.send();  // Stays open.
  (void)told.send();
  (void)told.answer(2, std::nullopt);  // By a rule.
  for (std::size_t i = 0; i < 3 * kMessagesKept; ++i) {
    ASSERT_TRUE(told.send());
    ASSERT_TRUE(told.answer(told.number));
  }
  EXPECT_EQ(told.table.all().size(), kMessagesKept);
  EXPECT_NE(told.table.find(1), nullptr);
  ASSERT_NE(told.table.last_by_rule(), nullptr);
  EXPECT_EQ(told.table.last_by_rule()->number, 2U);
  EXPECT_EQ(told.table.find(3), nullptr);
}

TEST(MessageTable, NeverGrowsAboveItsBound) {
  Told told;
  for (std::size_t i = 0; i < 3 * kMessagesKept; ++i) ASSERT_TRUE(told.send());
  EXPECT_EQ(told.table.all().size(), kMessagesKept);
  EXPECT_EQ(told.table.all().front().number, 2 * kMessagesKept + 1);
}

}  // namespace
}  // namespace berth::core
