// SPDX-License-Identifier: Apache-2.0
// Records for tests and benchmarks: one of each fact with every field set, made from its table. Not
// part of a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "base/sample_for_test.h"
#include "model/record.h"

namespace berth::samples {

/// One of each fact, in the order of Fact, with every field set; sequence numbers from 1.
inline std::vector<Record> all_facts() {
  std::vector<Fact> facts;
  [&]<std::size_t... kIndexes>(std::index_sequence<kIndexes...>) {
    (facts.emplace_back(full_sample<std::variant_alternative_t<kIndexes, AnyFact>>()), ...);
  }(std::make_index_sequence<std::variant_size_v<AnyFact>>());
  std::vector<Record> records;
  for (Fact& fact : facts) {
    const std::uint64_t sequence = records.size() + 1;
    records.push_back({sequence,
                       {static_cast<std::int64_t>(sequence) * 1'000'000'007},
                       {1770470100000 + static_cast<std::int64_t>(sequence)},
                       std::move(fact)});
  }
  return records;
}

/// As the coordinator writes most: a grant on one device.
inline Record typical(std::uint64_t sequence) {
  return {sequence,
          {86'400'000'000'000},
          {1770470100123},
          LeaseGranted{{sequence}, {{{0x5a1c0d2e01234567, 0x89abcdef01234567}, gib(8)}}, false}};
}

}  // namespace berth::samples
