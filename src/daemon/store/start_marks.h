// SPDX-License-Identifier: Apache-2.0
// The file `starts` of a state directory: a line for each start of a daemon, and whether it lived
// to answer anybody. It shows a journal that kills its reader, and another boot of the machine. The
// daemon's thread, at start and once after it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace berth::store {

/// How far a daemon came. kClosed: it ended in order, with all it had written in the synced copy.
enum class Outcome : std::uint8_t { kUnanswered, kAnswered, kClosed };

struct StartMark {
  std::string boot_id;
  Instant at;
  UnixMs wall;
  std::int32_t pid = 0;
  std::string release;
  Outcome outcome = Outcome::kUnanswered;
};

class StartMarks {
 public:
  static constexpr std::size_t kKept = 16;
  static constexpr std::size_t kDeathsMax = 2;
  static constexpr Duration kWithin = seconds(60);

  /// Of the file at this path. What cannot be read in it counts as nothing: it decides about
  /// caution only.
  explicit StartMarks(std::string path);

  /// The last start; absent if there was none.
  std::optional<StartMark> last() const;
  /// Whether the starts just before this one died before their first answer.
  bool journal_kills(const StartMark& now) const;

  Status add(const StartMark& mark);
  /// Of the last start; never from a later outcome to an earlier one.
  Status set_outcome(Outcome outcome);
  /// The last start ended in order, with an error that was told: it is no death.
  Status take_back();

 private:
  Status write() const;

  std::string path_;
  std::vector<StartMark> marks_;
};

}  // namespace berth::store
