// SPDX-License-Identifier: Apache-2.0
#include "mcp/arguments.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/units.h"

namespace berth::mcp {
namespace {

struct Wanted {
  Bytes vram;
  std::uint32_t count = 1;
  std::string note;
};
constexpr auto fields_of(Is<Wanted> auto*) {
  return fields({}, field("vram", &Wanted::vram).required().from(1),
                field("count", &Wanted::count).to(8), field("note", &Wanted::note));
}
struct WrongTogether {
  std::string_view field;
  std::string_view why;
};
std::optional<WrongTogether> fault_of(const Wanted& wanted) {
  if (wanted.note != "none" || wanted.count == 1) return std::nullopt;
  return WrongTogether{"count", "needs a note"};
}

TEST(Arguments, AreReadIntoAStruct) {
  const Result<Wanted> wanted = read_arguments<Wanted>(R"({"vram_bytes":5,"note":null})");
  ASSERT_TRUE(wanted.ok());
  EXPECT_EQ(wanted->vram, Bytes{5});
  EXPECT_EQ(wanted->count, 1u);
}

TEST(Arguments, ThatMakeNoSenseAreToldByWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> all = {
      {"{}", "the arguments: field 'vram_bytes' is missing"},
      {R"({"vram_bytes":"5"})",
       "the arguments: field 'vram_bytes' must be a whole number from 1 to 4611686018427387904, "
       "not text"},
      {R"({"vram_bytes":5,"count":9})",
       "the arguments: field 'count' must be a whole number from 0 to 8, not 9"},
      {R"({"vram_bytes":5,"cuont":1})",
       "the arguments: there is no field 'cuont'; did you mean 'count'?"},
      {R"({"vram_bytes":5,"count":2,"note":"none"})", "the arguments: field 'count' needs a note"},
  };
  for (const auto& [json, why] : all) {
    const Result<Wanted> wanted = read_arguments<Wanted>(json);
    ASSERT_FALSE(wanted.ok()) << json;
    EXPECT_EQ(wanted.error().message, why);
  }
}

}  // namespace
}  // namespace berth::mcp
