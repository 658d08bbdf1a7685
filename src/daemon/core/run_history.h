// SPDX-License-Identifier: Apache-2.0
// Use of earlier runs of a command, so that the next can ask for that much: docs/scheduling.md,
// «Learned sizes». Kept by user and command line, the last few runs of each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/record.h"

namespace berth::core {

/// A budget for what needs so much: a sixteenth more, for what differs between two runs, and in
/// whole steps of 64 MiB.
Bytes with_margin(Bytes peak);

class RunHistory {
 public:
  void add(UserId user, std::string_view command, PastRun run);
  void restore(const CommandRestored& fact);
  /// Enough for what its last runs used; absent where that is not known.
  std::optional<Bytes> budget_for(UserId user, std::string_view command) const;
  /// Everything, in an order in which restoring it gives the same again.
  std::vector<CommandRestored> all() const;

 private:
  struct Past {
    std::vector<PastRun> runs;  // Oldest first.
    std::uint64_t turn = 0;     // Of the last one, among those of all commands.
  };
  Past& past_of(UserId user, std::uint64_t fingerprint);
  void forget_one();

  std::map<std::pair<UserId, std::uint64_t>, Past> commands_;
  std::uint64_t turns_ = 0;
};

}  // namespace berth::core
