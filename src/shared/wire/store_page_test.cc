// SPDX-License-Identifier: Apache-2.0
// The table of records in docs/store.md is as the tables of facts are: BERTH_UPDATE=1 writes it
// anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "model/record.h"

namespace berth::wire {
namespace {

constexpr const char* kPage = BERTH_SOURCE_DIR "/docs/store.md";
constexpr std::string_view kTableHead = "\n| fact | fields | |\n|---|---|---|\n";

template <class T>
std::string row_of() {
  std::string fields;
  for_each_field<T, side::kJournal>([&](auto at) {
    constexpr const auto& kField = decltype(at)::kField;
    fields += fields.empty() ? "" : ", ";
    fields += kField.name(side::kJournal);
    if (!kField.is_required(side::kJournal)) fields += "?";
  });
  const Noun& noun = kFieldsOf<T>.noun;
  return "| `" + std::string(noun.name) + "` | " + fields + " | " + std::string(noun.doc) + " |\n";
}

template <class... Facts>
std::string rows_of(const std::variant<Facts...>* /*type*/) {
  return (row_of<Facts>() + ...);
}

TEST(StorePage, HasARowForEachFact) {
  std::ostringstream text;
  text << std::ifstream(kPage).rdbuf();
  const std::string page = text.str();
  const std::size_t begin = page.find(kTableHead);
  ASSERT_NE(begin, std::string::npos);
  const std::size_t first_row = begin + kTableHead.size();
  const std::size_t end = page.find("\n\n", first_row) + 1;
  const std::string expected =
      page.substr(0, first_row) + rows_of(static_cast<const AnyFact*>(nullptr)) + page.substr(end);
  if (std::getenv("BERTH_UPDATE") != nullptr) std::ofstream(kPage) << expected;
  EXPECT_EQ(page, expected) << "run wire_test with BERTH_UPDATE=1";
}

}  // namespace
}  // namespace berth::wire
