// SPDX-License-Identifier: Apache-2.0
// Lists of live leases as they were written for users who ask for them again and again: each is
// told once more, unchanged, for a moment. Bounded. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/ids.h"
#include "base/units.h"
#include "core/coordinator.h"
#include "wire/viewer.h"

namespace berth::server {

class WrittenLists {
 public:
  static constexpr Duration kListFor = milliseconds(100);
  static constexpr std::size_t kListsMax = 16;                    // One of a user,
  static constexpr std::size_t kListMax = std::size_t{4} << 20U;  // of so many bytes.

  /// `version`: of what there is to tell (Engine::version()).
  std::string list(const core::Coordinator& coordinator, std::uint64_t version, core::Now at,
                   const wire::Viewer& to);

 private:
  /// The live leases as one user was told them.
  struct List {
    struct Of {
      std::uint64_t version = 0;
      bool all_commands = false;
      bool all_handles = false;
      friend constexpr bool operator==(const Of&, const Of&) = default;
    };
    Of of;
    Instant at;
    std::string body;
  };
  std::map<UserId, List> lists_;
};

}  // namespace berth::server
