// SPDX-License-Identifier: Apache-2.0
#include "base/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace berth {
namespace {

using testing::ElementsAre;

struct Inner {
  int depth = 3;
};
constexpr auto fields_of(Is<Inner> auto*) {
  return fields({}, field("depth", &Inner::depth));
}

struct Noted {
  Bytes vram;
  std::optional<Duration> wait;
  std::vector<Instant> seen;
  UnixMs at;
  std::uint32_t count = 0;
  Inner inner;
};
constexpr auto fields_of(Is<Noted> auto*) {
  return fields(
      {"Noted", "For tests."},
      field("vram", &Noted::vram, "How much.").journal_after("at_ms").required(side::kBody),
      field("wait", &Noted::wait).journal_after("vram_bytes"),
      field("seen", &Noted::seen).only(side::kJournal),
      field("at", &Noted::at).called("time", side::kWire),
      field("count", &Noted::count).called("times", side::kJournal).from(1).to(9),
      field("depth", &Noted::inner, &Inner::depth).only(side::kAnswer), all_fields(&Noted::inner),
      computed("twice", "", [](const Noted& noted) { return 2 * noted.count; }));
}

template <Sides kSide>
std::vector<std::string> names() {
  std::vector<std::string> found;
  for_each_field<Noted, kSide>(
      [&](auto at) { found.emplace_back(decltype(at)::kField.name(kSide)); });
  return found;
}

TEST(Fields, HaveTheirUnitsAndOrderOnEachSide) {
  EXPECT_THAT(names<side::kJournal>(),
              ElementsAre("seen_ns", "at_ms", "vram_bytes", "wait_ns", "times"));
  EXPECT_THAT(names<side::kBody>(),
              ElementsAre("vram_bytes", "wait_ms", "time", "count", "", "twice"));
  EXPECT_THAT(names<side::kAnswer>(),
              ElementsAre("vram_bytes", "wait_ms", "time", "count", "depth", "", "twice"));
}

TEST(Fields, HaveTheirRules) {
  constexpr auto& kTable = kFieldsOf<Noted>;
  EXPECT_EQ(kTable.noun.name, "Noted");
  constexpr auto& kVram = field_at<0>(kTable);
  EXPECT_EQ(kVram.doc, "How much.");
  EXPECT_TRUE(kVram.is_required(side::kBody));
  EXPECT_FALSE(kVram.is_required(side::kAnswer));
  EXPECT_FALSE(kVram.is_always_written(side::kJournal));
  constexpr auto& kCount = field_at<4>(kTable);
  EXPECT_EQ(kCount.min, 1U);
  EXPECT_EQ(kCount.max, 9U);
}

TEST(Fields, LeadToTheirValues) {
  Noted noted{.vram = Bytes{5}, .count = 4};
  field_at<0>(kFieldsOf<Noted>).place.reach(noted) = Bytes{6};
  EXPECT_EQ(noted.vram, Bytes{6});
  EXPECT_EQ(field_at<5>(kFieldsOf<Noted>).place.get(noted), 3);
  EXPECT_EQ(field_at<6>(kFieldsOf<Noted>).place.get(noted).depth, 3);
  EXPECT_EQ(field_at<7>(kFieldsOf<Noted>).place.get(noted), 8U);
}

TEST(Fields, AreFoundBelowAStruct) {
  static_assert(HasFields<Process>);
  static_assert(HasFields<const Noted>);
  static_assert(!HasFields<int>);
  static_assert(!HasFields<LeaseId>);
}

}  // namespace
}  // namespace berth
