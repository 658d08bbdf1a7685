// SPDX-License-Identifier: Apache-2.0
// Holds the guard's table of functions against what NVIDIA's runtimes look up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "guard/hooked_for_test.h"

namespace berth::guard {
namespace {

using ::testing::Contains;

constexpr unsigned kPerThread = 2;  // The default stream of each thread: the functions in _ptsz.

struct Lookup {
  std::string name;
  int version = 0;
  unsigned flags = 0;
  std::string by;
  std::string why;
};
struct Function {
  std::string symbol;
  std::string name;
  int since;
};
const std::vector<Function> kFunctions = [] {
  std::vector<Function> functions;
  for (const Hooked& hooked : kHooked) {
    functions.push_back({.symbol = hooked.symbol, .name = hooked.name, .since = hooked.since});
  }
  return functions;
}();

bool is_per_thread(const Function& function) {
  return function.symbol.ends_with("_ptsz") || function.symbol.ends_with("_ptds");
}

struct LookupTable {
  std::set<std::string> reasons;
  std::vector<Lookup> lookups;
};
LookupTable read_table() {
  std::ifstream in(BERTH_SOURCE_DIR "/src/guard/lookups.tsv");
  LookupTable table;
  const std::regex reason("#   ([a-z]+) +.*");
  for (std::string line; std::getline(in, line);) {
    std::smatch found;
    if (std::regex_match(line, found, reason)) table.reasons.insert(found[1]);
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    Lookup lookup;
    words >> lookup.name >> lookup.version >> lookup.flags >> lookup.by >> lookup.why;
    table.lookups.push_back(lookup);
  }
  return table;
}
const LookupTable kTable = read_table();

/// What the guard has for it: the name may mean another function since a later version.
std::vector<Function> functions_for(const Lookup& lookup) {
  std::vector<Function> found;
  for (const Function& function : kFunctions) {
    if (function.name == lookup.name && function.since <= lookup.version) found.push_back(function);
  }
  return found;
}

std::string to_text(const Lookup& lookup) {
  return lookup.name + " of " + std::to_string(lookup.version) + ", flags " +
         std::to_string(lookup.flags);
}

TEST(Lookups, AreAllThatWereObservedEachWithItsReason) {
  EXPECT_EQ(kTable.lookups.size(), 479U);
  for (const Lookup& lookup : kTable.lookups)
    EXPECT_THAT(kTable.reasons, Contains(lookup.why)) << to_text(lookup);
}

TEST(Lookups, FindTheGuardAtEachVersionAndFlagThatIsAskedFor) {
  for (const Lookup& lookup : kTable.lookups) {
    const std::vector<Function> functions = functions_for(lookup);
    EXPECT_EQ(lookup.why == "guard", !functions.empty()) << to_text(lookup);
    // Where one of them is for each thread's stream, that is what these flags mean.
    const bool has_both = std::ranges::any_of(kFunctions, [&](const Function& function) {
      return function.name == lookup.name && is_per_thread(function);
    });
    if (lookup.why != "guard" || lookup.flags != kPerThread || !has_both) continue;
    EXPECT_TRUE(std::ranges::any_of(functions, is_per_thread)) << to_text(lookup);
  }
}

// By their names: whatever is added to the list has to be thought of.
TEST(Lookups, WhatCanTakeMemoryOrMakeAContextIsTheGuardsOrHasAReasonThatSaysWhyNot) {
  const std::regex takes(
      "Alloc|CtxCreate|CtxRetain|PoolCreate|MemCreate|Array(3D)?Create|MipmappedArrayCreate|"
      "Instantiate|MemMap|Reserve|GraphUpload|GraphLaunch|OpenMem|Import|MapResources|MapBuffer");
  const std::set<std::string> reasons = {"guard", "node", "host", "imports", "context"};
  std::size_t count = 0;
  for (const Lookup& lookup : kTable.lookups) {
    if (!std::regex_search(lookup.name, takes) || lookup.name.ends_with("Semaphore")) continue;
    EXPECT_THAT(reasons, Contains(lookup.why)) << to_text(lookup);
    ++count;
  }
  EXPECT_GT(count, 30U);
}

}  // namespace
}  // namespace berth::guard
