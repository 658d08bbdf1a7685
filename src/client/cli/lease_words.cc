// SPDX-License-Identifier: Apache-2.0
#include "cli/lease_words.h"

#include <algorithm>
#include <array>

#include "base/nearest.h"
#include "base/number.h"

namespace berth::cli {
namespace {

constexpr std::array<std::string_view, 3> kGroupWords = {"@last", "@mine", "@failed"};
constexpr std::array<LeaseGroup, 3> kGroups = {LeaseGroup::kLast, LeaseGroup::kMine,
                                               LeaseGroup::kFailed};

Result<LeaseWord> group(std::string_view word) {
  for (std::size_t i = 0; i < kGroupWords.size(); ++i) {
    if (kGroupWords.at(i) == word) return LeaseWord(kGroups.at(i));
  }
  std::string message = "\"" + std::string(word) + "\" is none of @last, @mine, @failed";
  if (auto meant = nearest(word, kGroupWords))
    message.append("; did you mean ").append(*meant) += '?';
  return Error{Errc::kInvalid, message};
}

// A lease that was ended by a user has not failed itself.
bool is_failed(const LeaseView& lease) {
  return lease.result && *lease.result != EndResult::kOk &&
         *lease.result != EndResult::kCancelled && *lease.result != EndResult::kDetached;
}

bool belongs(const LeaseView& lease, LeaseGroup group, UserId me) {
  if (lease.user != me) return false;
  switch (group) {
    case LeaseGroup::kLast:
      return true;
    case LeaseGroup::kMine:
      return lease.state != LeaseState::kEnded;
    case LeaseGroup::kFailed:
      return is_failed(lease);
  }
  return false;
}

bool is_in(const LeaseView& lease, const LeaseWord& word, UserId me) {
  if (const auto* range = std::get_if<LeaseRange>(&word)) {
    return lease.id.value >= range->first && lease.id.value <= range->last;
  }
  const auto* group = std::get_if<LeaseGroup>(&word);
  return group != nullptr && belongs(lease, *group, me);
}

}  // namespace

Result<LeaseWord> parse_lease_word(std::string_view word) {
  if (word.starts_with('@')) return group(word);
  const auto dots = word.find("..");
  if (dots != std::string_view::npos) {
    const auto first = parse_number<std::uint64_t>(word.substr(0, dots));
    const auto last = parse_number<std::uint64_t>(word.substr(dots + 2));
    if (first && last && *first <= *last) return LeaseWord(LeaseRange{*first, *last});
    return Error{Errc::kInvalid, "\"" + std::string(word) +
                                     "\" is no range of leases: write it as in 3..7, the smaller "
                                     "number first"};
  }
  if (word.empty()) return Error{Errc::kInvalid, "an empty word names no lease"};
  return LeaseWord(LeaseReference{std::string(word)});
}

std::vector<LeaseView> chosen(const LeaseWord& word, std::span<const LeaseView> leases, UserId me) {
  std::vector<LeaseView> found;
  for (const LeaseView& lease : leases) {
    if (is_in(lease, word, me)) found.push_back(lease);
  }
  std::ranges::sort(found, {}, &LeaseView::id);
  const auto* group = std::get_if<LeaseGroup>(&word);
  if (group == nullptr || *group != LeaseGroup::kLast || found.empty()) return found;
  return {found.back()};
}

std::string reference_to(const LeaseView& lease) {
  return lease.handle == Handle{} ? to_text(lease.id) : to_text(lease.handle);
}

}  // namespace berth::cli
