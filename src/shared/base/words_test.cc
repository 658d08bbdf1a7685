// SPDX-License-Identifier: Apache-2.0
#include "base/words.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

namespace berth {
namespace {

enum class Meal : std::uint8_t { kBreakfast, kLunch, kDinner };
constexpr auto words_of(Meal) {
  using enum Meal;
  return make_words<Meal>(
      {{kBreakfast, "breakfast"}, {kLunch, "lunch", "noon"}, {kDinner, "dinner"}});
}
enum class Lone : std::uint8_t { kOnly };
constexpr auto words_of(Lone) {
  return make_words<Lone>({{Lone::kOnly, "only"}});
}

static_assert(HasWords<Meal> && !HasWords<int>);
static_assert(is_declared<Meal::kDinner>() && !is_declared<static_cast<Meal>(3)>());
static_assert(to_text(Meal::kDinner) == "dinner");

TEST(Words, AreReadAsTheirValues) {
  EXPECT_EQ(parse_word<Meal>("breakfast"), Meal::kBreakfast);
  EXPECT_EQ(parse_word<Meal>("dinner"), Meal::kDinner);
  EXPECT_EQ(parse_word<Meal>("Dinner"), std::nullopt);
  EXPECT_EQ(parse_word<Meal>(""), std::nullopt) << "only one of them had another word before";
}

TEST(Words, OfBeforeAreReadAndStayInTheJournal) {
  EXPECT_EQ(parse_word<Meal>("noon"), Meal::kLunch);
  EXPECT_EQ(to_text(Meal::kLunch), "lunch");
  EXPECT_EQ(journal_word(Meal::kLunch), "noon");
  EXPECT_EQ(journal_word(Meal::kDinner), "dinner");
}

TEST(Words, AreListedForMessages) {
  EXPECT_EQ(choices<Meal>(), "breakfast, lunch or dinner");
  EXPECT_EQ(choices<Meal>("\""), R"("breakfast", "lunch" or "dinner")");
  EXPECT_EQ(choices<Lone>(), "only");
}

TEST(WordsDeathTest, OfAValueThatIsNoneEndTheProgram) {
  EXPECT_DEATH((void)to_text(std::bit_cast<Meal>(std::uint8_t{7})), "check failed");
}

}  // namespace
}  // namespace berth
