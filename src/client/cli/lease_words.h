// SPDX-License-Identifier: Apache-2.0
// Selection of leases by the words on a command line: `7`, a handle, a name or the beginning of
// one, `3..7`, `@last`, `@mine`, `@failed`. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/lease.h"

namespace berth::cli {

/// One lease; the daemon knows which.
struct LeaseReference {
  std::string text;
};
struct LeaseRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};
enum class LeaseGroup : std::uint8_t {
  kLast,    // The newest of one's own, ended or not.
  kMine,    // All of one's own that have not ended.
  kFailed,  // Those of one's own that ended other than well.
};
using LeaseWord = std::variant<LeaseReference, LeaseRange, LeaseGroup>;

Result<LeaseWord> parse_lease_word(std::string_view word);

/// Those of `leases` that a range or group means, by id; none for a reference.
std::vector<LeaseView> chosen(const LeaseWord& word, std::span<const LeaseView> leases, UserId me);

/// How the daemon is to find it again: by its handle where that is told, else by its number.
std::string reference_to(const LeaseView& lease);

}  // namespace berth::cli
