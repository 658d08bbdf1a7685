// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace berth {
namespace {

// Optimal string alignment: three rows of the usual table, because a swap looks two rows up.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> two_up(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = above[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], two_up[j - 2] + 1);
      }
    }
    std::swap(two_up, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::optional<std::string_view> only_one_begun(std::string_view word,
                                               std::span<const std::string_view> candidates) {
  std::optional<std::string_view> found;
  for (const std::string_view candidate : candidates) {
    if (!candidate.starts_with(word)) continue;
    if (found) return std::nullopt;
    found = candidate;
  }
  return found;
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates) {
  constexpr std::size_t kWordMax = 64;  // Longer ones are no slips of the finger.
  if (word.size() < 2 || word.size() > kWordMax) return std::nullopt;
  if (auto begun = only_one_begun(word, candidates)) return begun;
  std::optional<std::string_view> best;
  std::size_t best_edits = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t edits = edits_between(word, candidate);
    if (edits >= best_edits) continue;
    best_edits = edits;
    best = candidate;
  }
  return best;
}

}  // namespace berth
